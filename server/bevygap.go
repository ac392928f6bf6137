package server

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/rest"
)

// mountBevygap mounts the routes of bevygap's clients, if the options have them, with the settings that all faces share. They stand behind no
// gate and no deadline, because they wait; the face has limits of its own.
func (s *Server) mountBevygap(failures *rest.Limiter) (err error) {
	o := s.options
	if o.Bevygap == nil {
		return nil
	}
	face := *o.Bevygap
	face.Store, face.Log, face.Metrics = cmp.Or[bevygap.Store](face.Store, o.Store), cmp.Or(face.Log, o.Log), cmp.Or(face.Metrics, o.Metrics.Registerer())
	face.Failures, face.Callers = cmp.Or(face.Failures, failures), cmp.Or(face.Callers, rest.NewLimiter(o.CallerRate))
	if face.AllowsOrigin == nil {
		face.AllowsOrigin = o.allowsOrigin
	}
	if face.Connect == nil {
		face.Connect = o.connect
	}
	if face.Refused == nil {
		face.Refused = s.refusals.Record
	}
	if face.Verify == nil && o.Access.Keys != nil {
		if face.Verify, err = o.verifier(); err != nil {
			return err
		}
	}
	if s.bevygap, err = bevygap.New(face); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.bevygap.Mount(s.engine)
	return nil
}

// stopBevygap ends the requests of bevygap's clients. The channel gets the error.
func (s *Server) stopBevygap(ctx context.Context) <-chan error {
	stopped := make(chan error, 1)
	if s.bevygap == nil {
		stopped <- nil
		return stopped
	}
	go func() { stopped <- s.bevygap.Stop(ctx) }()
	return stopped
}

// connect exchanges the handle of a seat for the connect token of its server.
func (o Options) connect(ctx context.Context, handle, sub string) (bevygap.Connection, error) {
	seat, err := o.Store.Resolve(ctx, handle, sub)
	if err != nil {
		return bevygap.Connection{}, err
	}
	ticket, err := o.Connects.Ticket(seat)
	if err != nil {
		return bevygap.Connection{}, err
	}
	if ticket == nil {
		return bevygap.Connection{}, fmt.Errorf("the server of session %s takes no connect tokens: it is no deployment, but offers a mode of a pool", seat.SessionID)
	}
	return bevygap.Connection{
		Token: ticket.Token.Bytes(), ClientID: ticket.ClientID, IP: ticket.Addr.Addr(), Port: ticket.Addr.Port(), CertDigest: ticket.CertDigest,
	}, nil
}
