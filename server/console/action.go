package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// action is something that an operator may do. GET asks, POST does it.
type action struct {
	routePath string
	// askFirst returns the question, which says what would happen. It runs again before do, because the question says
	// which fields of the form count.
	askFirst func(ctx context.Context, s Store, q query) (question, error)
	// do performs the action, and returns a sentence about its outcome. A second call must change nothing further.
	do func(ctx context.Context, s Store, q query, d deed) (string, error)
}

// question is the page that asks before an action.
type question struct {
	Title   string   // as in: Drain eu-1?
	Effects []string // what would happen, a sentence each
	Button  string   // as in: Drain
	Danger  bool     // cannot be undone
	Back    string   // the path to go to afterwards
	// RequiresReason says that the form needs a reason, which the event has; without it a reason may be left out.
	RequiresReason bool
	// HidesReason says that no reason is asked for, because no event would have it.
	HidesReason bool
	Fields      []field // further fields of the form
}

// field is a further field of the form of an action.
type field struct {
	Name, Label, Value, Help string
	Number, Hidden           bool
	YesOrEmpty               bool // takes only yes or nothing; see deed.saysYes
}

// maxFieldLength is how many characters a field takes. The form holds a browser to it, and checkFields everybody else.
const maxFieldLength = 200

// MaxLength is maxFieldLength, for the form.
func (field) MaxLength() int { return maxFieldLength }

// seenSuffix ends the name of the hidden field with the value of a field that the person saw.
const seenSuffix = "_seen"

// withSeen adds what a person saw in fields with present values: see deed.changes.
func withSeen(fields ...field) []field {
	for _, f := range fields {
		fields = append(fields, field{Name: f.Name + seenSuffix, Value: f.Value, Hidden: true})
	}
	return fields
}

// deed is a form that was sent: who acts, why, and the values of its fields.
type deed struct {
	// Functions of the store that require a reason take it as an argument, and the others by Act.Because.
	Actor, Reason string
	Values        map[string]string // by the name of the field
}

// changes reports whether a field of withSeen has another value than the person saw, which is not empty. One that has
// the same is left alone: sent back, it would undo what somebody else has set since.
func (d deed) changes(name string) bool {
	seen := d.Values[name+seenSuffix]
	return seen == "" || d.Values[name] != seen
}

// saysYes reports whether a field with YesOrEmpty has "yes".
func (d deed) saysYes(name string) bool { return strings.EqualFold(d.Values[name], "yes") }

// actionView is what templates/confirm.html reads.
type actionView struct {
	Question question

	Path        string // of the action, to which the form is sent
	Error       string // why the form was refused; empty: none was, or none was sent yet
	GivenReason string // the reason that the refused form had
}

// addAction mounts an action. Viewers are refused before the gate, so that they take no slots of operators.
func (c *Console) addAction(r gin.IRoutes, gate *rest.Gate, a action) {
	r.GET(a.routePath, onlyOperators, gate.Enter, func(g *gin.Context) { c.askAction(g, a) })
	r.POST(a.routePath, onlyOperators, gate.Enter, func(g *gin.Context) { c.performAction(g, a) })
}

// onlyOperators is the middleware that refuses viewers.
func onlyOperators(g *gin.Context) {
	if sessionOf(g).Viewer {
		rest.Fail(g, &rest.Problem{Status: http.StatusForbidden, Code: "forbidden", Title: "Only operators may do this",
			Detail: "You are logged in as a viewer."})
	}
}

// askAction answers with the question, which changes nothing: a link may be followed by anybody, or be fetched ahead.
func (c *Console) askAction(g *gin.Context, a action) {
	q := queryOf(g)
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	asked, err := a.askFirst(ctx, c.options.Store, q)
	if err != nil {
		rest.Fail(g, err)
		return
	}
	c.writeTemplate(g, http.StatusOK, c.templates.pagesByName["confirm"],
		c.makeView(g, q, actionView{Question: asked, Path: q.URL()}))
}

// performAction does what a form asks for, and leads to the page that shows it.
func (c *Console) performAction(g *gin.Context, a action) {
	s, q := sessionOf(g), queryOf(g)
	if !checkForm(g, s) {
		return
	}
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	// Asked again, and not taken from the form: which fields there are and whether a reason is required is not the
	// browser's to say.
	asked, err := a.askFirst(ctx, c.options.Store, q)
	if err != nil {
		rest.Fail(g, err)
		return
	}
	d := readDeed(g, asked.Fields)
	if problem := cmp.Or(checkReason(d.Reason, asked.RequiresReason), checkFields(asked.Fields, d.Values)); problem != "" {
		c.askAgain(g, asked, d, problem)
		return
	}
	outcome, err := a.do(ctx, c.options.Store, q, d)
	if problem := refusalText(err); problem != "" {
		c.askAgain(g, asked, d, problem)
		return
	}
	if err != nil {
		rest.Fail(g, err)
		return
	}
	c.leaveNotice(g, outcome)
	// 303: a browser that reloads the next page does not send the form again.
	g.Redirect(http.StatusSeeOther, asked.Back)
}

// askAgain answers with the question and what is wrong with the form that was sent.
func (c *Console) askAgain(g *gin.Context, asked question, d deed, problem string) {
	q := queryOf(g)
	// The form has what was typed, so that nobody has to write it again.
	asked.Fields = filledFields(asked.Fields, d.Values)
	c.writeTemplate(g, http.StatusUnprocessableEntity, c.templates.pagesByName["confirm"],
		c.makeView(g, q, actionView{asked, q.URL(), problem, d.Reason}))
}

// readDeed reads the form of an action. It ignores fields that the question does not have, whoever sent them.
func readDeed(g *gin.Context, fields []field) deed {
	d := deed{sessionOf(g).Name, strings.TrimSpace(g.PostForm("reason")), map[string]string{}}
	for _, f := range fields {
		d.Values[f.Name] = strings.TrimSpace(g.PostForm(f.Name))
	}
	return d
}

// filledFields returns a copy of fields with other values, by name.
func filledFields(fields []field, values map[string]string) []field {
	filled := slices.Clone(fields) // those of some actions are shared by all requests
	for i := range filled {
		filled[i].Value = values[filled[i].Name]
	}
	return filled
}

// checkReason returns what is wrong with a reason, or "".
func checkReason(reason string, required bool) string {
	switch {
	case required && reason == "":
		return "Say why: events show the reason beside your name."
	case utf8.RuneCountInString(reason) > db.MaxReason:
		return fmt.Sprintf("The reason must have at most %d characters.", db.MaxReason)
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return "The reason must have no control characters."
	}
	return ""
}

// checkFields returns what is wrong with a field, or "".
func checkFields(fields []field, values map[string]string) string {
	for _, f := range fields {
		text := values[f.Name]
		if utf8.RuneCountInString(text) > maxFieldLength {
			return fmt.Sprintf("%s: at most %d characters.", f.Label, maxFieldLength)
		}
		// A "y" that counted as empty would leave out what the person wants done.
		if f.YesOrEmpty && text != "" && !strings.EqualFold(text, "yes") {
			return f.Label + ": write yes, or leave it empty."
		}
	}
	return ""
}

// refusalText returns why the store refuses an action, for an error after which the form is shown again; otherwise "".
func refusalText(err error) string {
	var refused *fault.Error
	// After an error of these kinds the person can change what was typed, or sees that nothing is left to do. Errors of
	// other kinds have a page of their own.
	if errors.As(err, &refused) && (refused.Kind == fault.Conflict || refused.Kind == fault.Invalid ||
		refused.Kind == fault.Gone) {
		return refused.Detail
	}
	return ""
}

// outcomeText returns the sentence for an action that changed something, or the one for an action that did not.
func outcomeText(changed bool, did, didNot string) string {
	if changed {
		return did
	}
	return didNot
}
