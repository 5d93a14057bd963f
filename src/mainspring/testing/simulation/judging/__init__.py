"""What must hold, one small function per property; each knows only the history and the rows at the end."""
