-- The five tables, in words that PostgreSQL and SQLite both understand; repeating them changes nothing.

CREATE TABLE IF NOT EXISTS inventory (
    sku text PRIMARY KEY,
    quantity integer NOT NULL CHECK (quantity >= 0),
    version integer NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS orders (
    id text PRIMARY KEY,
    user_id text NOT NULL,
    status text NOT NULL DEFAULT 'placed' CHECK (status IN ('placed', 'paid')),
    total_cents bigint NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE IF NOT EXISTS order_items (
    order_id text NOT NULL REFERENCES orders (id),
    line integer NOT NULL,
    sku text NOT NULL REFERENCES inventory (sku),
    quantity integer NOT NULL CHECK (quantity > 0),
    price_cents integer NOT NULL CHECK (price_cents >= 0),
    PRIMARY KEY (order_id, line)
);

CREATE TABLE IF NOT EXISTS payments (
    order_id text PRIMARY KEY REFERENCES orders (id),
    status text NOT NULL DEFAULT 'authorized' CHECK (status IN ('authorized', 'captured')),
    amount_cents bigint NOT NULL
);

-- The key is taken before its order is written, so the reference is looked at when the transaction commits.
CREATE TABLE IF NOT EXISTS idempotency_keys (
    key text PRIMARY KEY,
    fingerprint text NOT NULL,
    order_id text NOT NULL REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED,
    created_at timestamp with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP
);

INSERT INTO inventory (sku, quantity)
VALUES ('SKU-RED-TSHIRT', 100), ('SKU-BLUE-TSHIRT', 100)
ON CONFLICT (sku) DO NOTHING;
