// Package dockertest is a fake of the part of the Docker Engine API that provider/docker calls: containers with names,
// labels, ports and logs' options, their states, and the engine's events.
package dockertest
