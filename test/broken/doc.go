// Package broken breaks real installations, and requires that `director doctor`, /readyz, the console's Health and the
// alerts name the fault first.
package broken
