package dockertest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// container is a container of the fake.
type container struct {
	id, name                string
	body                    object
	labels                  map[string]string
	published               map[string]int // by port and protocol
	created, started, ended time.Time      // zero: not yet
	code                    int
}

func (c *container) status(now time.Time) string {
	switch {
	case c.started.IsZero():
		return "created"
	// After a SIGTERM, ended is the time at which the container will have ended.
	case !c.ended.IsZero() && now.After(c.ended):
		return "exited"
	default:
		return "running"
	}
}

func (c *container) has(labels []string) bool {
	for _, label := range labels {
		name, value, _ := strings.Cut(label, "=")
		if c.labels[name] != value {
			return false
		}
	}
	return true
}

func (c *container) entry(now time.Time) object {
	var ports []object
	for _, key := range slices.Sorted(maps.Keys(c.published)) {
		number, protocol, _ := strings.Cut(key, "/")
		private, _ := strconv.Atoi(number)
		ports = append(ports, object{"IP": "0.0.0.0", "PrivatePort": private, "PublicPort": c.published[key],
			"Type": protocol})
	}
	return object{"Id": c.id, "Names": []string{"/" + c.name}, "Created": c.created.Unix(), "State": c.status(now),
		"Labels": c.labels, "Ports": ports}
}
