(* The score of a vector with itself: mean and variance of a sum of squares. *)
From Coq Require Import Reals Lra Lia List.
From SDPA Require Import Sums Expectation Independence Scores.
Local Open Scope R_scope.

Section Lengths.
Context {P : space} (d : nat) (x : nat -> P -> R) (c : R).
Hypotheses (H : independent 4 (all1 d x)).
Hypothesis squares : forall i, (i < d)%nat -> E (fun w => x i w ^ 2) = 1 /\ E (fun w => x i w ^ 4) = c.
Let Y i : P -> R := fun w => x i w ^ 2.

Lemma integrable_power i a : (i < d)%nat -> (a <= 4)%nat -> integrable (fun w => x i w ^ a).
Proof. intros. apply (polynomial_integrable 4 (all1 d x)); auto. now apply power_polynomial. Qed.
Lemma square_of_square i : (i < d)%nat -> integrable (fun w => Y i w ^ 2) /\ E (fun w => Y i w ^ 2) = c.
Proof.
  intro Hi. assert (A : forall w, x i w ^ 4 = Y i w ^ 2) by (intro; unfold Y; ring).
  split; [apply (integrable_ext _ _ A), integrable_power; lia|]. rewrite <- (E_ext _ _ A). now apply squares.
Qed.
Lemma two_squares i j : (i < d)%nat -> (j < d)%nat -> i <> j ->
  integrable (fun w => Y i w * Y j w) /\ E (fun w => Y i w * Y j w) = E (Y i) * E (Y j).
Proof.
  intros Hi Hj Hij. destruct (powers 4 d x i j 2 2) as [p e]; auto.
  split; [now apply (polynomial_integrable 4 (all1 d x))|now apply e].
Qed.
(* The squared length of d components with fourth moment c has variance d (c - 1). *)
Theorem variance_of_length : Var (dot d x x) = INR d * (c - 1).
Proof.
  assert (A : forall w, dot d x x w = sum d (fun i => Y i w)).
  { intro w. apply sum_ext; intros. unfold Y. ring. }
  rewrite (Var_ext _ _ A), (Var_sum d Y).
  - rewrite (sum_ext d _ (fun _ => c - 1)), sum_const; [easy|]. intros i Hi.
    destruct (square_of_square i Hi) as [h e]. destruct (squares i Hi) as [s _].
    rewrite Var_E, e by (easy || (apply integrable_power; lia)). unfold Y. rewrite s. ring.
  - intros i Hi. apply integrable_power; lia.
  - intros i j Hi Hj. destruct (Nat.eq_dec i j) as [<-|h]; [|now apply two_squares].
    apply (integrable_ext (fun w => Y i w ^ 2)); [intro; ring|now apply square_of_square].
  - intros i j Hi Hj Hij. destruct (two_squares i j Hi Hj Hij) as [h e].
    rewrite Cov_E, e by (easy || (apply integrable_power; lia)). ring.
Qed.
End Lengths.
