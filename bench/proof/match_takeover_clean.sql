TRUNCATE tickets;
