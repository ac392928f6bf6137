package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/rest"
)

const (
	maxVersion     = 1_000_000 // of a profile
	maxReasonChars = 500
)

// profileInfo is a profile without its document.
type profileInfo struct {
	Name      string     `json:"name"`
	Live      int        `json:"live"`
	Shadow    int        `json:"shadow,omitempty"`
	Versions  int        `json:"versions"`
	Author    string     `json:"author"`
	Reason    string     `json:"reason"`
	CreatedAt time.Time  `json:"created_at"`
	RetiredAt *time.Time `json:"retired_at,omitempty"`
}

type listAnswer struct {
	Profiles []profileInfo `json:"profiles"`
}

func (f face) listProfiles(ctx context.Context, in rest.In[rest.None]) (listAnswer, error) {
	var c rest.Check
	retired := c.Flag("retired", in.Query("retired"))
	if err := c.Err(); err != nil {
		return listAnswer{}, err
	}
	found, err := f.store.Profiles(ctx, db.ProfileQuery{Universe: f.region, WithRetired: retired})
	if err != nil {
		return listAnswer{}, err
	}
	all := make([]profileInfo, len(found))
	for i, p := range found {
		all[i] = profileInfo{p.Name, p.LiveVersion, p.ShadowVersion, p.VersionCount, p.Author, p.Reason,
			p.CreatedAt.UTC(), p.RetiredAt}
	}
	return listAnswer{all}, nil
}

// profileVersion is a version of a profile with its document.
type profileVersion struct {
	Name      string     `json:"name"`
	Version   int        `json:"version"`
	Live      int        `json:"live"`
	Shadow    int        `json:"shadow,omitempty"`
	Document  string     `json:"document"`
	Author    string     `json:"author"`
	Reason    string     `json:"reason"`
	CreatedAt time.Time  `json:"created_at"`
	RetiredAt *time.Time `json:"retired_at,omitempty"`
}

// showProfile returns a version of a profile with its document, by default the live one.
func (f face) showProfile(ctx context.Context, in rest.In[rest.None]) (profileVersion, error) {
	// No version has the number 0: it stands for the live one.
	wanted := 0
	if text := in.Query("version"); text != "" {
		var err error
		if wanted, err = strconv.Atoi(text); err != nil || wanted < 1 || wanted > maxVersion {
			return profileVersion{}, invalidError("version", "must be a whole number from 1")
		}
	}
	v, err := f.store.Profile(ctx, f.region, in.Param("name"), wanted)
	return profileVersion{v.Name, v.Version, v.LiveVersion, v.ShadowVersion, v.Document, v.Author, v.Reason,
		v.CreatedAt.UTC(), v.RetiredAt}, err
}

func invalidError(field, detail string) error {
	var c rest.Check
	c.That(false, field, detail)
	return c.Err()
}

// schemaName is the path at which GET returns the schema of profiles instead of a profile.
const schemaName = "schema"

// profileChange is the answer to calls that change a profile.
type profileChange struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Changed bool   `json:"changed"`
}

type applyRequest struct {
	Document string `json:"document"`
	Reason   string `json:"reason"`
	Shadow   bool   `json:"shadow"`
}

// Validate implements rest.Validator.
func (r *applyRequest) Validate(c *rest.Check) {
	c.That(r.Document != "", "document", "is required and must not be empty")
	checkReason(c, r.Reason)
}

func checkReason(c *rest.Check, reason string) {
	c.That(utf8.RuneCountInString(reason) <= maxReasonChars && !strings.ContainsFunc(reason, unicode.IsControl),
		"reason", fmt.Sprintf("must have at most %d characters, and no control characters", maxReasonChars))
}

// applyProfile stores a document as the next version of a profile and makes it live, or the shadow of the live one.
func (f face) applyProfile(ctx context.Context, in rest.In[applyRequest]) (profileChange, error) {
	if in.Param("name") == schemaName {
		return profileChange{}, invalidError("name", "must not be "+schemaName+": no call could read this profile")
	}
	edit, err := f.editOf(ctx, in.Param("name"), in.Header("If-Match"), in.Body.Reason)
	if err != nil {
		return profileChange{}, err
	}
	apply := f.store.ApplyProfile
	if in.Body.Shadow {
		apply = f.store.ApplyShadow
	}
	done, err := apply(ctx, edit, []byte(in.Body.Document))
	return profileChange(done), problemOf(err)
}

type rollbackRequest struct {
	Version *int   `json:"version"`
	Reason  string `json:"reason"`
}

// Validate implements rest.Validator.
func (r *rollbackRequest) Validate(c *rest.Check) {
	if r.Version != nil {
		c.Range("version", *r.Version, 1, maxVersion)
	}
	checkReason(c, r.Reason)
}

// rollBackProfile makes an earlier version live.
func (f face) rollBackProfile(ctx context.Context, in rest.In[rollbackRequest]) (profileChange, error) {
	edit, err := f.editOf(ctx, in.Param("name"), in.Header("If-Match"), in.Body.Reason)
	if err != nil {
		return profileChange{}, err
	}
	// 0 stands for the version before the live one.
	to := 0
	if in.Body.Version != nil {
		to = *in.Body.Version
	}
	done, err := f.store.RollbackProfile(ctx, edit, to)
	return profileChange(done), problemOf(err)
}

func (f face) retireProfile(ctx context.Context, in rest.In[rest.None]) (profileChange, error) {
	// DELETE has no body, so the reason is in the query.
	edit, err := f.editOf(ctx, in.Param("name"), in.Header("If-Match"), in.Query("reason"))
	if err != nil {
		return profileChange{}, err
	}
	var c rest.Check
	checkReason(&c, edit.Reason)
	if err := c.Err(); err != nil {
		return profileChange{}, err
	}
	done, err := f.store.RetireProfile(ctx, edit)
	return profileChange(done), problemOf(err)
}

// liveVersion is the pattern of If-Match.
var liveVersion = regexp.MustCompile(`^("[0-9]{1,7}"|[0-9]{1,7})$`)

// editOf returns who changes which profile. If-Match has the live version that the caller has seen, as "3"; "0" means
// that there is none.
func (f face) editOf(ctx context.Context, name, ifMatch, reason string) (db.ProfileEdit, error) {
	edit := db.ProfileEdit{Universe: f.region, Name: name, Author: rest.Caller(ctx), Reason: reason}
	if ifMatch == "" {
		return edit, nil
	}
	if !liveVersion.MatchString(ifMatch) {
		return edit, invalidError("If-Match", `must be the live version in quotes, such as "3", or "0" if there is none`)
	}
	expected, _ := strconv.Atoi(strings.Trim(ifMatch, `"`)) // as the pattern says
	edit.Expected = &expected
	return edit, nil
}

// problemOf replaces the errors that have a status of their own in this face: an invalid document or edit, and a
// profile that was changed since the caller read it.
func problemOf(err error) error {
	var refused *profile.Error
	var stored *fault.Error
	switch {
	case errors.As(err, &refused):
		// Not 400: the body is valid, and the document in it is not.
		p := &rest.Problem{Status: http.StatusUnprocessableEntity, Code: "profile_invalid", Title: "Invalid profile",
			Detail: refused.Problems[0].String()}
		for _, one := range refused.Problems {
			p.Errors = append(p.Errors, rest.FieldError{Field: "document", Detail: one.String()})
		}
		return p
	case errors.As(err, &stored) && stored.Code == "profile_changed": // RFC 9110 section 13.1.1
		return &rest.Problem{Status: http.StatusPreconditionFailed, Code: stored.Code, Title: "Precondition failed",
			Detail: stored.Detail}
	// The store compares what the document alone does not show, such as the name of its profile.
	case errors.As(err, &stored) && stored.Kind == fault.Invalid:
		return &rest.Problem{Status: http.StatusUnprocessableEntity, Code: "profile_invalid", Title: "Invalid profile",
			Detail: stored.Detail}
	}
	return err
}

// Store is the part of db.Store that this face calls.
type Store interface {
	Profiles(ctx context.Context, list db.ProfileQuery) ([]db.ProfileInfo, error)
	Profile(ctx context.Context, region, name string, version int) (db.ProfileVersion, error)
	ApplyProfile(ctx context.Context, edit db.ProfileEdit, document []byte) (db.ProfileChange, error)
	ApplyShadow(ctx context.Context, edit db.ProfileEdit, document []byte) (db.ProfileChange, error)
	RollbackProfile(ctx context.Context, edit db.ProfileEdit, version int) (db.ProfileChange, error)
	RetireProfile(ctx context.Context, edit db.ProfileEdit) (db.ProfileChange, error)
}

type face struct {
	store  Store
	region string
}

func serveSchema(c *gin.Context) { c.Data(http.StatusOK, "application/schema+json", profile.Schema()) }
