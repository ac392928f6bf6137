package openmatch

import "time"

// WithPings lets clients ping so often, for tests that cannot wait for seconds.
func WithPings(o *Options, every time.Duration) { o.pings = every }
