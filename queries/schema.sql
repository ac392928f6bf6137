-- name: SchemaVersion :one
SELECT schema_version()::bigint AS version;

-- name: RestoredFromDump :one
SELECT restored_from_dump()::bool AS restored;
