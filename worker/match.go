package worker

import "context"

// matcher is the director loop, internal/matching/loop: it decides about tickets until ctx ends, and outlasts outages
// itself.
type matcher interface {
	Run(ctx context.Context)
}
