"""What the core asks of the world: protocols with one-sentence contracts, and the values that they exchange."""
