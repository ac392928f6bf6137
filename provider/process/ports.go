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
		port, err := p.findPort(w.Protocol, next, taken)
		if err != nil {
			return nil, err
		}
		w.Internal, w.External = uint16(port), uint16(port)
		ports[w.Name] = w
		next = port + 1
	}
	return ports, nil
}

// findPort returns the first free port from a number on. Errors: Capacity; Transient if the machine lacks what it takes
// to find out.
func (p *Provider) findPort(protocol provider.Protocol, from int, taken map[uint16]bool) (int, error) {
	for port := from; port <= int(p.config.PortMax); port++ {
		// Both state.json and a bind are asked: a server that has just started may not have bound its ports yet, and
		// other programs are in no state.json.
		if taken[uint16(port)] {
			continue
		}
		err := bindOnce(protocol, port)
		if err == nil {
			return port, nil
		}
		if isShortage(err) {
			return 0, provider.Fail(provider.Transient, "deploy", err)
		}
	}
	return 0, provider.Fail(provider.Capacity, "deploy",
		fmt.Errorf("no port of %d-%d is free", p.config.PortMin, p.config.PortMax))
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

// bindOnce binds a port on all addresses and releases it. It fails if another program uses the port.
func bindOnce(protocol provider.Protocol, port int) error {
	addr := ":" + strconv.Itoa(port)
	if protocol == provider.UDP {
		c, err := net.ListenPacket("udp", addr) //nolint:noctx // binding does not wait
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	l, err := net.Listen("tcp", addr) //nolint:noctx // binding does not wait
	if err == nil {
		_ = l.Close()
	}
	return err
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
