package openmatch

import "time"

// WithSendTimeout sets how long a caller may leave unread what a stream sends.
func WithSendTimeout(o *Options, d time.Duration) { o.sendTimeout = d }

// WithMinPing sets the least time between two pings of a client, for tests that cannot wait for seconds.
func WithMinPing(o *Options, d time.Duration) { o.minPing = d }
