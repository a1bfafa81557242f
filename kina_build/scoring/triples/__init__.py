"""Knowledge-base triples: what is asked, how names are linked, how predictions are marked."""
