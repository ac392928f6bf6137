package db

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// CredentialLife is how long the credential of an instance is valid without a renewal: long enough for a network that
// is down overnight, and no longer, since nobody may notice that a credential was copied from a server that has ended.
const CredentialLife = 24 * time.Hour

// EnrolmentID names an enrolment.
type EnrolmentID struct {
	Region string
	ID     uuid.UUID
}

func (e EnrolmentID) bytes() int { return textBytes(e.Region) }

// enrolmentDigest is the SHA-256 of the secret of an enrolment; nil: there is no such enrolment.
type enrolmentDigest *[sha256.Size]byte

// EnrolmentDigest returns the SHA-256 of the secret of an enrolment, nil if there is none. Calls that wait at the same
// time share one statement, so that tokens that strangers made up cost little. Errors: Unavailable.
func (s *Store) EnrolmentDigest(ctx context.Context, id EnrolmentID) (*[sha256.Size]byte, error) {
	return s.batchGroups.enrolmentDigests.Do(ctx, "", id)
}

// readEnrolments answers a batch of EnrolmentDigest, of any regions.
func (s *Store) readEnrolments(ctx context.Context, _ string, calls []*batch.Call[EnrolmentID, enrolmentDigest]) error {
	var p query.EnrolmentDigestsParams
	for _, c := range calls {
		p.Regions = append(p.Regions, c.Req.Region)
		p.Ids = append(p.Ids, c.Req.ID)
	}
	rows, err := s.q.EnrolmentDigests(ctx, p)
	if err != nil {
		return err
	}
	digests := make(map[EnrolmentID]enrolmentDigest, len(rows))
	for _, r := range rows {
		// The table has a check of the length, without which the conversion might panic.
		digest := [sha256.Size]byte(r.Digest)
		digests[EnrolmentID{r.Region, r.ID}] = &digest
	}
	// An enrolment that does not exist has nil: the caller refuses its token.
	for _, c := range calls {
		c.Answer(digests[c.Req], nil)
	}
	return nil
}

// RenewCredential extends the credential of an instance whose heartbeat was accepted; tokensBy is as in Enrolling. ok
// is false for a credential that was revoked or replaced. A renewal whose answer was lost may be repeated. Errors:
// Unavailable.
func (s *Store) RenewCredential(ctx context.Context, region, instance string, credential uuid.UUID,
	tokensBy string) (expiresAt time.Time, ok bool, err error) {
	expiresAt, err = s.q.RenewCredential(ctx, query.RenewCredentialParams{Life: CredentialLife, TokensBy: tokensBy,
		Region: region, InstanceID: instance, Credential: credential})
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, frame.Classify(err)
	}
	return expiresAt, true, nil
}

// lockEnrolment locks the enrolment of a registration until the transaction ends, and refuses what the enrolment does
// not allow. An enrolment that is over registers no new instances; those that it registered before may register again.
func lockEnrolment(ctx context.Context, q *query.Queries, r Registration) (query.LockEnrolmentRow, error) {
	e, err := q.LockEnrolment(ctx, query.LockEnrolmentParams{Region: r.Enrolling.Region, ID: r.Enrolling.EnrolmentID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return e, credentialRevoked(r)
	case err != nil:
		return e, err
	case e.Revoked && !r.Enrolling.isInstance():
		return e, fault.New(fault.Forbidden, "enrolment_over", "the enrolment %s was revoked", e.Name)
	case e.Expired && !r.Enrolling.isInstance():
		return e, fault.New(fault.Forbidden, "enrolment_over", "the enrolment %s has expired", e.Name)
	case r.Region != r.Enrolling.Region:
		return e, outsideEnrolment("region", "it is of region %s", r.Enrolling.Region)
	}
	for _, mode := range r.Modes {
		// An enrolment without a list allows all modes.
		if len(e.Modes) > 0 && !slices.Contains(e.Modes, mode) {
			return e, outsideEnrolment("modes", "it has no mode %q", mode)
		}
	}
	return e, nil
}

// checkHolder refuses a registration by an enrolment under an id that belongs to another game server. The caller has
// locked the row of the directory.
func checkHolder(ctx context.Context, q *query.Queries, r Registration) error {
	p := query.HolderOfInstanceParams{Region: r.Region, InstanceID: r.InstanceID}
	if id, err := uuid.Parse(r.InstanceID); err == nil {
		p.AsDeployment = &id
	}
	holder, err := q.HolderOfInstance(ctx, p)
	if err != nil {
		return err
	}
	return judgeHolder(holder, r)
}

func judgeHolder(holder query.HolderOfInstanceRow, r Registration) error {
	e := r.Enrolling
	// A row has both the enrolment and the credential, or neither: if isOwn, holder.Credential is not nil.
	isOwn := holder.Enrolment != nil && *holder.Enrolment == e.EnrolmentID
	switch {
	// The id belongs to another instance by now, or an operator has revoked the credential.
	case e.isInstance() && (!isOwn || *holder.Credential != e.CredentialID || holder.Revoked):
		return credentialRevoked(r)
	// Between servers of one enrolment, fenceRegistration decides who keeps the id.
	case !isOwn && (holder.Runs || holder.Deployed):
		return outsideEnrolment("instance_id",
			"a game server with another credential has it; wait until that has deregistered or its lease has expired")
	}
	return nil
}

func credentialRevoked(r Registration) error {
	return fault.New(fault.Forbidden, "credential_revoked",
		"the credential of instance %q was revoked or replaced: register with the token of an enrolment", r.InstanceID)
}

func outsideEnrolment(field, format string, args ...any) error {
	return fault.New(fault.Forbidden, "outside_enrolment", "the enrolment does not allow this %s: %s", field,
		fmt.Sprintf(format, args...))
}

// takePlace records that an instance has registered by its enrolment, and returns the credential of the instance. The
// enrolment is locked, so that its servers are counted exactly, however many replicas register them.
func takePlace(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID) (*Enrolled, error) {
	e := r.Enrolling
	credential := e.CredentialID
	if !e.isInstance() {
		credential = uuid.New()
	}
	put, err := q.PutEnrolledServer(ctx, query.PutEnrolledServerParams{Region: r.Region, InstanceID: r.InstanceID,
		Enrolment: e.EnrolmentID, Credential: credential, Incarnation: incarnation, TokensBy: e.TokensBy,
		Life: CredentialLife})
	if err != nil {
		return nil, err
	}
	// Counted after the insert, so that this instance is among them.
	taken, err := q.CountEnrolled(ctx, query.CountEnrolledParams{Region: r.Region, Enrolment: e.EnrolmentID})
	if err != nil {
		return nil, err
	}
	// The refusal rolls the registration back, with the insert and the end of the earlier incarnation.
	if taken > int64(r.terms.MaxServers) {
		return nil, fault.New(fault.Conflict, "enrolment_full", "the enrolment %s has all of its %d servers",
			r.terms.Name, r.terms.MaxServers)
	}
	// The credential of the row, not the new one: a repeated registration keeps the one that the server may have
	// already.
	return &Enrolled{e.EnrolmentID, put.Credential, put.ExpiresAt}, nil
}
