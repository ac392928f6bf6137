package nats

import (
	"sync"

	"github.com/google/uuid"
)

// maxPerDeployment bounds the connections of one deployment, so that one credential cannot take the places of all
// others. A process has one, and a second one while its old one is not yet found to be silent.
const maxPerDeployment = 8

// crowd counts the connections of each deployment. Make it with newCrowd. Safe for concurrent use.
type crowd struct {
	mu     sync.Mutex
	counts map[uuid.UUID]int
}

func newCrowd() *crowd { return &crowd{counts: map[uuid.UUID]int{}} }

// enter counts a connection, and returns false if its deployment has too many. Call leave when it has ended.
func (c *crowd) enter(deployment uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[deployment] >= maxPerDeployment {
		return false
	}
	c.counts[deployment]++
	return true
}

func (c *crowd) leave(deployment uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[deployment]--
	if c.counts[deployment] == 0 { // deployments end: the map would keep all that ever were
		delete(c.counts, deployment)
	}
}
