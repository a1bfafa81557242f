"""The commands of the group `questions`: parse, call, show."""
