package process

import (
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"

	"github.com/lattice-director/director/provider"
)

// allocatePorts gives each port a number of the range that no server of this directory has, and that can be bound now.
func (p *Provider) allocatePorts(wanted []provider.Port) (map[string]provider.Port, error) {
	taken, alive, err := p.takenPorts()
	if err != nil {
		return nil, provider.Fail(provider.Transient, "deploy", err)
	}
	if alive >= p.config.MaxServers {
		return nil, provider.Fail(provider.Capacity, "deploy",
			fmt.Errorf("%d servers run, which is the maximum", alive))
	}
	ports := make(map[string]provider.Port, len(wanted))
	next := int(p.config.PortMin)
	for _, w := range wanted {
		// Both looks are needed: a server that has just started may not have bound its ports yet, and programs that are
		// not ours are in no state.json.
		for next <= int(p.config.PortMax) && (taken[uint16(next)] || !isFree(w.Protocol, next)) {
			next++
		}
		if next > int(p.config.PortMax) {
			return nil, provider.Fail(provider.Capacity, "deploy",
				fmt.Errorf("no port of %d-%d is free", p.config.PortMin, p.config.PortMax))
		}
		w.Internal, w.External = uint16(next), uint16(next)
		ports[w.Name] = w
		next++
	}
	return ports, nil
}

// takenPorts returns the ports of the servers that are alive, and the number of these servers.
func (p *Provider) takenPorts() (ports map[uint16]bool, alive int, err error) {
	all, err := p.allDeployments()
	ports = map[uint16]bool{}
	for _, d := range all {
		if !d.isAlive() {
			continue
		}
		alive++
		for _, port := range d.state.Ports {
			ports[port.External] = true
		}
	}
	return ports, alive, err
}

// isFree reports whether a port can be bound on all addresses: another program may use it.
func isFree(protocol provider.Protocol, port int) bool {
	addr := ":" + strconv.Itoa(port)
	if protocol == provider.UDP {
		c, err := net.ListenPacket("udp", addr) //nolint:noctx // binding does not wait
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	l, err := net.Listen("tcp", addr) //nolint:noctx // binding does not wait
	if err == nil {
		_ = l.Close()
	}
	return err == nil
}

// environmentOf adds the ports to a server's environment, also in the form in which servers that were built for Edgegap
// read them.
func (p *Provider) environmentOf(env provider.Env, ports map[string]provider.Port) map[string]string {
	all := make(map[string]string, len(env)+len(ports))
	maps.Copy(all, env)
	for name, port := range ports {
		all["LATTICE_PORT_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = fmt.Sprint(port.Internal)
	}
	if _, builtForEdgegap := env["ARBITRIUM_PORTS_MAPPING"]; builtForEdgegap {
		all["ARBITRIUM_PORTS_MAPPING"] = provider.PortsMapping(ports)
		all["ARBITRIUM_PUBLIC_IP"] = p.config.Advertise.String()
	}
	return all
}
