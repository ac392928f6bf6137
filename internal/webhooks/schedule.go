package webhooks

import "time"

const (
	// GiveUpAfter is how long a letter is tried before it is a dead letter.
	GiveUpAfter = 72 * time.Hour

	letterFirst   = 5 * time.Second
	letterLongest = 6 * time.Hour
	roundFirst    = time.Second
	// roundLongest is short, because an endpoint that was away for an hour should have caught up soon after its return.
	roundLongest = time.Minute
	// longestRetryAfter bounds what an endpoint may ask for.
	longestRetryAfter = time.Hour
)

// letterPause returns how long a letter waits after its attempts have failed: 5 s, 20 s, 80 s … up to 6 h, a quarter
// more or less. jitter is in [0, 1).
func letterPause(attempts int, jitter float64) time.Duration {
	return jitterPause(growingPause(letterFirst, letterLongest, 4, attempts), jitter)
}

// roundPause returns how long a webhook waits after so many rounds in which nothing could be delivered: 1 s, 2 s, 4 s …
// up to a minute, a quarter more or less.
func roundPause(failures int, jitter float64) time.Duration {
	return jitterPause(growingPause(roundFirst, roundLongest, 2, failures), jitter)
}

// growingPause returns first for one failure, factor times as much for each further one, and at most longest.
func growingPause(first, longest time.Duration, factor, failures int) time.Duration {
	pause := first
	// It stops at longest: after some dozen failures the pause would overflow.
	for n := 1; n < failures && pause < longest; n++ {
		pause *= time.Duration(factor)
	}
	return min(pause, longest)
}

func jitterPause(pause time.Duration, jitter float64) time.Duration {
	return time.Duration(float64(pause) * (0.75 + jitter/2))
}

// atLeast returns the pause, or what the endpoint asked for if that is longer.
func atLeast(pause, retryAfter time.Duration) time.Duration {
	return max(pause, min(retryAfter, longestRetryAfter))
}
