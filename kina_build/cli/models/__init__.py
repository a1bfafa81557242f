"""The commands of the group `models`: parse, call, show."""
