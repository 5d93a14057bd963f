"""Other words for the same jobs: each dialect is a table of renamings over the services behind `/api/v1`."""
