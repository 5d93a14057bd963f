"""The shapes of answers, and of requests beside jobs, as the OpenAPI document describes them."""
