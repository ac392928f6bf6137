package optimum

// none is no node and no vertex.
const none = -1

// edge joins a vertex of one node with a vertex of another. Weight 0: there is none.
type edge struct {
	source, target int
	weight         int64
}

// label says where a node is in the forest of alternating paths that grow from the vertices without a mate.
type label uint8

const (
	free  label = iota // in no tree
	outer              // at an even distance from a root
	inner              // at an odd distance
)

// graph is a graph and its matching. Nodes are vertices, those below vertexCount, and blossoms, which contain nodes.
type graph struct {
	vertexCount     int
	tightEdges      [][]edge // by two nodes: the edge with the least slack of those that join them
	dualValues      []int64
	mateOf          []int // by node: the vertex at the other end of its matched edge
	topNode         []int // by node: the outermost node that contains it; none: an unused blossom
	parentOf        []int // by inner node: the outer vertex from which it was reached
	nearestOuter    []int // by node: the outer vertex whose edge to it has the least slack
	nodeLabels      []label
	blossomMembers  [][]int // by blossom: its nodes, in the order of the cycle, that with the mate outside first
	holdingMember   [][]int // by node and vertex: the member that contains the vertex
	pendingVertices []int   // outer vertices whose edges have not been looked at yet
	lastVisit       []int   // by node: the latest search for a common root that passed it
	visitCount      int
}

func newGraph(size int) *graph {
	// Blossoms are odd cycles of three or more nodes, one within the other or apart: half as many as vertices
	// suffice.
	nodes := size + size/2 + 1
	g := &graph{
		vertexCount: size, tightEdges: make([][]edge, nodes), dualValues: make([]int64, nodes),
		mateOf:   make([]int, nodes),
		topNode:  make([]int, nodes),
		parentOf: make([]int, nodes), nearestOuter: make([]int, nodes), nodeLabels: make([]label, nodes),
		blossomMembers: make([][]int, nodes),
		holdingMember:  make([][]int, nodes), lastVisit: make([]int, nodes),
	}
	for node := range nodes {
		g.tightEdges[node], g.holdingMember[node] = make([]edge, nodes), make([]int, size)
		g.mateOf[node], g.topNode[node] = none, none
		for vertex := range size {
			g.holdingMember[node][vertex] = none
		}
		if node < size {
			g.topNode[node], g.holdingMember[node][node] = node, node
		}
	}
	return g
}

// addEdge adds an edge; its weight is positive.
func (g *graph) addEdge(i, j int, weight int64) {
	g.tightEdges[i][j], g.tightEdges[j][i] = edge{i, j, weight}, edge{j, i, weight}
}

// slackOf returns how far an edge is from being allowed in the matching; 0: it is allowed.
func (g *graph) slackOf(e edge) int64 {
	// The weight counts twice: dual variables are twice those of the textbook, so that all stay whole numbers.
	return g.dualValues[e.source] + g.dualValues[e.target] - 2*e.weight
}

// becomeOuter makes all vertices of a node outer.
func (g *graph) becomeOuter(node int) {
	g.nodeLabels[node] = outer
	g.addPending(node)
}

// addPending adds the vertices of a node to pendingVertices.
func (g *graph) addPending(node int) {
	if node < g.vertexCount {
		g.pendingVertices = append(g.pendingVertices, node)
		return
	}
	for _, member := range g.blossomMembers[node] {
		g.addPending(member)
	}
}

// comeNear makes an outer vertex the nearest one of a node if none is nearer.
func (g *graph) comeNear(from, node int) {
	if old := g.nearestOuter[node]; old == none ||
		g.slackOf(g.tightEdges[from][node]) < g.slackOf(g.tightEdges[old][node]) {
		g.nearestOuter[node] = from
	}
}

// findNearest sets the nearest outer vertex of a node.
func (g *graph) findNearest(node int) {
	g.nearestOuter[node] = none
	for from := range g.vertexCount {
		// Edges between vertices of the node itself do not count.
		if g.tightEdges[from][node].weight > 0 && g.topNode[from] != node && g.nodeLabels[g.topNode[from]] == outer {
			g.comeNear(from, node)
		}
	}
}

// outerAbove returns the outer node that an outer node was reached from, two edges nearer to the root; none: it is the
// root.
func (g *graph) outerAbove(node int) int {
	// Trees grow from the nodes without a mate.
	if g.mateOf[node] == none {
		return none
	}
	return g.topNode[g.parentOf[g.topNode[g.mateOf[node]]]]
}
