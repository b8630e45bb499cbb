// Package endtoend holds no code: its tests build both programs and run them as
// an operator does, through kills, swaps, damage and hostile clients.
package endtoend
