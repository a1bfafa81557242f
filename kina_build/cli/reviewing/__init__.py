"""The commands of the group `reviewing`: parse, call, show."""
