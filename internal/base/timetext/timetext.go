// Package timetext formats times for people.
package timetext

import (
	"strings"
	"time"
)

// Brief formats a duration without trailing units that are zero: 24h instead of 24h0m0s.
func Brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
