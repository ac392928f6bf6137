package nats

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/token"
)

// shakeHands sends INFO, begins TLS if the options have it, and verifies the credential. Everything must arrive in time,
// however slowly. Errors: a *refusal; others if the client breaks the handshake off.
func (c *conn) shakeHands() error {
	_ = c.socket.SetDeadline(time.Now().Add(c.server.options.shakeHandsWithin))
	if err := c.writeInfo(); err != nil {
		return err
	}
	if err := c.beginTLS(); err != nil {
		return err
	}
	op, err := c.reader.read()
	if err != nil {
		return err
	}
	// Clients of NATS send CONNECT, with the credential, first.
	if op.verb != opConnect {
		return errCredential
	}
	if err := json.Unmarshal(op.payload, &c.connectRequest); err != nil {
		return errCredential
	}
	deployment, ok := c.server.verifyCredential(c.connectRequest)
	if !ok {
		return errCredential
	}
	c.deployment = deployment
	c.log = c.log.With(slog.String("instance_id", deployment.ID.String()), slog.String("region", deployment.Region))
	return nil
}

func (c *conn) writeInfo() error {
	return c.writeWhole(serverInfo{
		ServerID: c.server.id, ServerName: "lattice-director", Version: spokenVersion, Proto: 1, Headers: true,
		AuthRequired: true, TLSRequired: c.server.options.TLS != nil, MaxPayload: maxPayload, JetStream: true,
		ClientID: c.id,
	}.line())
}

// beginTLS begins TLS after INFO was sent in plain text, as clients of NATS expect it. Nothing is read before, so that
// no plain text counts as sent over TLS.
func (c *conn) beginTLS() error {
	config := c.server.options.TLS
	if config == nil {
		return nil
	}
	secure := tls.Server(c.socket, config)
	if err := secure.HandshakeContext(c.server.admissionContext); err != nil {
		return err
	}
	c.socket, c.reader = secure, newOperationReader(secure)
	return nil
}

// verifyCredential returns the deployment whose credential was sent: the user is its id, the password its token.
func (s *Server) verifyCredential(sent connectRequest) (of provision.Joining, ok bool) {
	d, by, ok := s.options.ServerTokens.Verify(token.ForFleet, sent.Password)
	// The credential of another deployment is a wrong one.
	if !ok || d.ID != sent.User {
		return of, false
	}
	id, err := uuid.Parse(d.ID)
	return provision.Joining{Region: d.Region, ID: id, TokenBy: by}, err == nil
}

// judgeDeployment asks whether the deployment still runs, before the client learns that its credential is good: a
// client that is ended later connects again without a pause. It waits while the database is unavailable.
func (c *conn) judgeDeployment() error {
	ctx, cancel := context.WithTimeout(c.server.admissionContext, c.server.options.holdRead)
	defer cancel()
	for {
		facts, err := c.readFacts(ctx)
		switch {
		case err == nil:
			c.gameServer = newGameServer(c.server.options, c.server.metrics, c.deployment, facts, c.log)
			return nil
		case endsRegistration(err):
			return errOver
		case !fault.Is(err, fault.Unavailable) && ctx.Err() == nil:
			return errors.Join(errUnavailable, err)
		}
		if !wait.For(ctx, retryPause) {
			return errUnavailable
		}
	}
}

func (c *conn) readFacts(ctx context.Context) (db.DeployedServer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.server.options.Store.FindDeployedServer(ctx, c.deployment)
}
