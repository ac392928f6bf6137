package agones

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// gameServer is a GameServer of Agones', as far as it is read.
type gameServer struct {
	Metadata struct {
		Name     string            `json:"name"`
		UID      string            `json:"uid"`
		Revision string            `json:"resourceVersion"`
		Labels   map[string]string `json:"labels"`
		Created  time.Time         `json:"creationTimestamp"`
		Deleted  *time.Time        `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Ports []specPort `json:"ports"`
	} `json:"spec"`
	Status struct {
		State   string       `json:"state"`
		Address string       `json:"address"`
		Node    string       `json:"nodeName"`
		Ports   []statusPort `json:"ports"`
	} `json:"status"`
}

type specPort struct {
	Name      string `json:"name"`
	Container int    `json:"containerPort"`
	Protocol  string `json:"protocol"` // UDP, TCP or TCPUDP
}

// statusPort is a port that players dial.
type statusPort struct {
	Name string `json:"name"`
	Port int    `json:"port"`
}

func (g gameServer) tagOf() provider.Tag { return provider.Tag(g.Metadata.Labels[LabelTag]) }

// wasReturned reports whether the server went back to its fleet.
func (g gameServer) wasReturned() bool {
	return g.Status.State == "Ready" || g.Status.State == "RequestReady"
}

// deletionBody is the body that deletes the game server as it was read, and nothing that it has become since.
func (g gameServer) deletionBody() any {
	return map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions",
		"preconditions": map[string]string{"uid": g.Metadata.UID, "resourceVersion": g.Metadata.Revision},
	}
}

func (g gameServer) observationOf() (provider.Observation, error) {
	if !validName(g.Metadata.Name) || !g.tagOf().Valid() {
		return provider.Observation{}, errors.New("a game server has no name or no tag")
	}
	var inside []provider.Port
	for _, port := range g.Spec.Ports {
		// A number out of range is no port that a server could bind.
		if port.Container >= 0 && port.Container <= math.MaxUint16 {
			inside = append(inside, provider.Port{Name: port.Name, Internal: uint16(port.Container),
				Protocol: provider.Protocol(strings.ToLower(port.Protocol))})
		}
	}
	ports, err := externalPorts(g.Status.Ports, inside)
	if err != nil {
		return provider.Observation{}, err
	}
	o := provider.Observation{
		Ref: refOf(g.Metadata.Name, g.tagOf()), Tag: g.tagOf(), Phase: g.phaseOf(), Ports: ports,
		Started:  g.Metadata.Created,
		Location: httpcall.Scrub(g.Status.Node[:min(len(g.Status.Node), 255)], nil),
		Raw:      httpcall.Scrub(g.Status.State[:min(len(g.Status.State), 40)], nil),
	}
	o.IP, o.FQDN = dialledHost(g.Status.Address)
	return o, nil
}

func (g gameServer) phaseOf() provider.Phase {
	// Judged before the state, which stays as it was while Kubernetes waits for the grace.
	if g.Metadata.Deleted != nil {
		return provider.PhaseStopping
	}
	switch g.Status.State {
	case "Allocated", "Reserved":
		return provider.PhaseReady
	case "Ready", "RequestReady": // it went back to its fleet
		return provider.PhaseGone
	case "Error", "Unhealthy":
		return provider.PhaseFailed
	case "Shutdown":
		return provider.PhaseStopping
	case "PortAllocation", "Creating", "Starting", "Scheduled":
		return provider.PhaseStarting
	default:
		return provider.PhaseUnknown
	}
}

// externalPorts joins the ports that players dial with what is known of them inside. Agones makes two ports of one that
// is TCP and UDP: NAME-tcp and NAME-udp.
func externalPorts(dialled []statusPort, inside []provider.Port) (map[string]provider.Port, error) {
	if len(dialled) > provider.MaxPorts {
		return nil, fmt.Errorf("%d ports, more than %d", len(dialled), provider.MaxPorts)
	}
	ports := map[string]provider.Port{}
	for _, d := range dialled {
		if d.Name == "" || len(d.Name) > 255 || d.Port < 1 || d.Port > math.MaxUint16 {
			return nil, fmt.Errorf("port %.40q is %d", d.Name, d.Port)
		}
		port := provider.Port{Name: d.Name, External: uint16(d.Port), Internal: uint16(d.Port), Protocol: provider.UDP}
		for _, in := range inside {
			base, hasTCPSuffix := strings.CutSuffix(d.Name, "-tcp")
			if in.Name == d.Name || hasTCPSuffix && in.Name == base || in.Name+"-udp" == d.Name {
				port.Internal, port.Protocol = cmp.Or(in.Internal, port.Internal), in.Protocol
			}
			if hasTCPSuffix && in.Name == base {
				port.Protocol = provider.TCP
			}
		}
		// Agones' default is UDP, and TCPUDP is no protocol of one port.
		if port.Protocol != provider.TCP {
			port.Protocol = provider.UDP
		}
		ports[d.Name] = port
	}
	return ports, nil
}

// decodePage reads a list of game servers. Those that went back to their fleet are not in it.
func decodePage(body []byte) (provider.Page, error) {
	var v struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
		Items []gameServer `json:"items"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return provider.Page{}, fmt.Errorf("is no list: %w", err)
	}
	// Taken for an empty list, another answer would make all deployments look gone.
	if v.Kind != "GameServerList" {
		return provider.Page{}, errors.New("is no list of game servers")
	}
	page := provider.Page{Next: v.Metadata.Continue, Total: -1}
	for _, g := range v.Items {
		o, err := g.observationOf()
		if err != nil {
			return provider.Page{}, err
		}
		// A server that went back to its fleet is nobody's deployment; it still has the labels of the last one.
		if o.Phase == provider.PhaseGone {
			page.Skipped++
			continue
		}
		page.Deployments = append(page.Deployments, o)
	}
	return page, nil
}
