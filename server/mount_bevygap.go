package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"

	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
	"github.com/lattice-director/director/server/rest"
)

// mountBevygap mounts the routes of bevygap's clients, if the options have them, with the settings that all faces
// share. They stand behind no gate and no deadline, because they wait; the face has limits of its own.
func (s *Server) mountBevygap(failures *rest.Limiter) (err error) {
	o := s.options
	if o.Bevygap == nil {
		return nil
	}
	face := *o.Bevygap
	face.Store = cmp.Or[bevygap.Store](face.Store, o.Store)
	face.Log = cmp.Or(face.Log, o.Log)
	face.Metrics = cmp.Or(face.Metrics, o.Metrics.Registerer())
	face.FailureLimiter = cmp.Or(face.FailureLimiter, failures)
	face.CallerLimiter = cmp.Or(face.CallerLimiter, rest.NewLimiter(o.CallerRate))
	face.CheckHere = o.Store.CheckHere
	if face.AllowsOrigin == nil {
		face.AllowsOrigin = o.allowsOrigin
	}
	if face.ConnectSeat == nil {
		face.ConnectSeat = o.connectSeat
	}
	if face.OnRefusal == nil {
		face.OnRefusal = s.refusalBook.Record
	}
	if face.VerifyToken == nil && o.Access.Keys != nil {
		if face.VerifyToken, err = o.accessVerifier(); err != nil {
			return err
		}
	}
	if s.bevygap, err = bevygap.New(face); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.bevygap.Mount(s.apiEngine)
	return nil
}

// mountNATS makes what game servers with bevygap's plugin connect to, if the options have it, with the settings that
// all faces share.
func (s *Server) mountNATS(config *tls.Config) (err error) {
	o := s.options
	if o.NATS == nil {
		return nil
	}
	face := *o.NATS
	face.Store = cmp.Or[nats.Store](face.Store, o.Store)
	face.ServerTokens = cmp.Or(face.ServerTokens, o.ServerTokens)
	face.TLS = cmp.Or(face.TLS, config.Clone())
	face.FailureRate = cmp.Or(face.FailureRate, o.FailureRate)
	face.Log = cmp.Or(face.Log, o.Log)
	face.Metrics = cmp.Or(face.Metrics, o.Metrics.Registerer())
	if s.nats, err = nats.New(face); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// connectSeat exchanges the handle of a seat for the connect token of its server.
func (o Options) connectSeat(ctx context.Context, handle, sub string) (bevygap.Connection, error) {
	seat, err := o.Store.Resolve(ctx, handle, sub)
	if err != nil {
		return bevygap.Connection{}, err
	}
	ticket, err := o.ConnectMinter.Ticket(seat)
	if err != nil {
		return bevygap.Connection{}, err
	}
	// Clients of this face connect with a token only. The text is for the operator, who finds it in the log.
	if ticket == nil {
		return bevygap.Connection{}, fmt.Errorf("the server of session %s takes no connect tokens: "+
			"it is no deployment, but offers a mode of a pool", seat.SessionID)
	}
	return bevygap.Connection{
		Token: ticket.Token.Bytes(), ClientID: ticket.ClientID, IP: ticket.Addr.Addr(), Port: ticket.Addr.Port(),
		CertDigest: ticket.CertDigest,
	}, nil
}
