"""Import: files of questions, of any known form, become items; what cannot be read is listed."""
