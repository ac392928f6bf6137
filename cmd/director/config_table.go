package main

import "slices"

// settingsTable returns the table of all settings, each bound to its field of c.
func (c *Config) settingsTable() []setting {
	// This order is that of the sections in --help, and of the flags within them.
	return slices.Concat(
		c.processSettings(),
		c.fleetSettings(),
		c.devSettings(),
		c.openMatchSettings(),
		c.orchestratorSettings(),
		c.loopSettings(),
		c.provisionSettings(),
		c.bevygapSettings(),
		c.realtimeSettings(),
		c.consoleSettings(),
		c.sidecarSettings(),
	)
}

// allSettings returns the settings with their defaults.
func allSettings() []setting {
	c := defaultConfig()
	return c.settingsTable()
}
