"""The machine itself: its clock, its source of chance, its threads and processes."""
