/*
** Registers of operands of mma.sync: a thread's words of a k-step, from a ring of stages in shared
** memory, those of A before those of B. The plan comes before.
*/
#pragma once

#include "fragment.cuh"

constexpr int kStagesOfB = plan::kStages * plan::A::kStageBytes; /* where B's stages start */
constexpr int kLastStep = plan::kSteps - 1;

static_assert(plan::kBlockK % plan::kAtomK == 0, "whole k-steps");
static_assert(plan::kSteps == plan::kBlockK / plan::kAtomK, "all k-steps of a tile");
static_assert(plan::kSteps % 2 == 0, "a step's registers go by its parity");
static_assert(plan::kStages >= 2, "one stage is read while another is written");
static_assert(plan::kEarlyA % plan::A::kWordsOfLoad == 0 &&
                  plan::kEarlyB % plan::B::kWordsOfLoad == 0,
              "whole loads");
static_assert(plan::A::kStageBytes % 128 == 0 && plan::B::kStageBytes % 128 == 0 &&
                  (plan::A::kLoadMask | plan::B::kLoadMask) < 128,
              "swizzles stay within 128 bytes, and a stage's start leaves them as they are");

/*
** The registers of a k-step. Early ones are loaded while the step before is multiplied: all of A and
** all but the last load of B, where there are registers for two steps, else a half of each; late ones
** when their step starts.
*/
struct Registers {
  Fragment<plan::A> a;
  Fragment<plan::B> b;
  unsigned from_a, from_b; /* shared addresses of the thread in stage 0 */

  DEVICE explicit Registers(unsigned shared)
      : from_a(shared + plan::A::load(threadIdx.x)),
        from_b(shared + kStagesOfB + plan::B::load(threadIdx.x)) {}

  DEVICE void load_early_a(int stage, int step) {
    a.load(from_a + stage * plan::A::kStageBytes, step, 0, plan::kEarlyA);
  }
  DEVICE void load_early_b(int stage, int step) {
    b.load(from_b + stage * plan::B::kStageBytes, step, 0, plan::kEarlyB);
  }
  DEVICE void load_late(int stage, int step) {
    a.load(from_a + stage * plan::A::kStageBytes, step, plan::kEarlyA);
    b.load(from_b + stage * plan::B::kStageBytes, step, plan::kEarlyB);
  }

  /*
  ** MMAs by early registers of B, by late ones and early ones of A, and by late ones of both: the
  ** quarters of plan::multiply, which are empty where there are no such registers.
  */
  DEVICE void multiply_early_b() {
    a.round(0, plan::kEarlyA);
    b.round(0, plan::kEarlyB);
    plan::multiply(0, a.words, b.words);
    a.round(plan::kEarlyA, plan::A::kWords);
    plan::multiply(2, a.words + plan::kEarlyA, b.words);
  }
  DEVICE void multiply_late_b_early_a() {
    b.round(plan::kEarlyB, plan::B::kWords);
    plan::multiply(1, a.words, b.words + plan::kEarlyB);
  }
  DEVICE void multiply_late() {
    plan::multiply(3, a.words + plan::kEarlyA, b.words + plan::kEarlyB);
  }
};
