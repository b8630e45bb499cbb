// Package endtoend has no code. Its tests build both programs and run them as an operator does, and
// test kills, swaps, damage and hostile clients.
package endtoend
