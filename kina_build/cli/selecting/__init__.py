"""The commands of the group `selecting`: parse, call, show."""
