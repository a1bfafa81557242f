"""The files of a release: data, card, Croissant, harness files, and how all of them are written."""
