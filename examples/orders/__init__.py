"""A checkout service: stock that is never oversold, orders that are never made twice, and jobs that belong to them."""
