"""Plans: compiling, comparing and changing them."""
