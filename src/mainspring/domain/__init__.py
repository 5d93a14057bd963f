"""The rules, pure: no clock, no chance, no input or output. Standard library and cronsim only."""
