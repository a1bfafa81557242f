"""The commands of the group `projects`: parse, call, show."""
