-- +goose Up
-- Logins to the console that have ended before their time. A login is a sealed cookie, which every replica opens without a query, and which a
-- browser or a copy of it could go on sending. login is the SHA-256 of what only the cookie and its forms contain.
CREATE TABLE console_logouts (
    login bytea       NOT NULL PRIMARY KEY,
    until timestamptz NOT NULL, -- from then on the cookie counts no more anyway
    CONSTRAINT a_login_is_a_sha_256 CHECK (octet_length(login) = 32)
);

-- +goose Down
DROP TABLE console_logouts;
