// Package estimate says how long tickets will wait, and keeps its word: of the waits that end in a match, half end before
// the p50 that was published when they began, and nine of ten before the p90, in a steady queue as in bursts, on ramps,
// and while servers start.
//
// An Estimator is for the tickets of a profile, a Line for players who are admitted in the order in which they came. Both
// are pure: times are arguments. An estimate is a product of three numbers:
//
//   - what Little's law says of the queue now: the tickets that wait, divided by the rate at which tickets were matched
//     of late. It rises the moment a crowd comes, long before the first of the crowd was matched.
//     In a line, these are the tickets ahead, and the rate is the part of the one that is permitted which the line uses;
//   - by how much the waits of late were longer or shorter than that, as a quantile. Tickets are grouped by a number,
//     such as skill, since rare ones wait for longer;
//   - a factor for each quantile that is raised a little by each wait that was longer than its estimate, and lowered a
//     little by each that was not, in the proportion of the quantile and of the spread of the waits. So the sum of both
//     stays bounded, which bounds the error of the shares over many waits whatever the waits are.
package estimate
