package openmatch

import "time"

// WithTaking has calls that last end when a caller leaves what is sent for so long.
func WithTaking(o *Options, d time.Duration) { o.taking = d }

// WithPings lets clients ping so often, for tests that cannot wait for seconds.
func WithPings(o *Options, every time.Duration) { o.pings = every }
