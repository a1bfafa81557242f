"""What comes in from files, checked before it is believed."""
