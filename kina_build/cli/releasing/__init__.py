"""The commands of the group `releasing`: parse, call, show."""
