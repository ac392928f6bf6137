// Package agonestest is a fake of what provider/agones calls: Agones' allocator over TLS with client certificates, and
// the game servers and fleets of the Kubernetes API.
package agonestest
