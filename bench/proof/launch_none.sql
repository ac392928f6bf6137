-- No valve.

DELETE FROM valves;

DELETE FROM admissions;
