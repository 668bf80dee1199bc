(* Scores of vectors that are turned, pair by pair, by angles of their own. *)
From Coq Require Import Reals Lra Lia List.
From SDPA Require Import Sums Expectation Independence Scores Mixtures.
Local Open Scope R_scope.

Section Rotations.
Context {P : space}.
Implicit Types (x y : nat -> P -> R) (u v : nat -> R).

(* mean u and deviation s, turned by an angle t *)
Definition turned (t : R) (u : nat -> R) (s : R) (i : nat) : R * (nat -> R) :=
  match i with
  | O => (u 0%nat * cos t - u 1%nat * sin t, fun c => s * match c with O => cos t | _ => - sin t end)
  | _ => (u 0%nat * sin t + u 1%nat * cos t, fun c => s * match c with O => sin t | _ => cos t end) end.
Definition turned_pair t u s x (i : nat) : P -> R := mixed 2 x (fst (turned t u s i)) (snd (turned t u s i)).

Lemma circle t : sin t * sin t + cos t * cos t = 1.
Proof. exact (sin2_cos2 t). Qed.

(* One pair: the variance of its part of the score does not depend on the angles. *)
Theorem variance_of_pair x y t u s t' v s' : independent 2 (all1 2 x ++ all1 2 y) -> alike 2 x 0 1 ->
  alike 2 y 0 1 ->
  Var (dot 2 (turned_pair t u s x) (turned_pair t' v s' y)) =
  2 * s' ^ 2 * s ^ 2 + s' ^ 2 * (u 0%nat ^ 2 + u 1%nat ^ 2) + s ^ 2 * (v 0%nat ^ 2 + v 1%nat ^ 2).
Proof.
  intros H X Y. unfold turned_pair.
  rewrite (variance_of_mixed 2 2 2 x y (fun i => fst (turned t u s i)) (fun i => snd (turned t u s i))
    (fun i => fst (turned t' v s' i)) (fun i => snd (turned t' v s' i)) H X Y).
  pose proof (circle t) as C. pose proof (circle t') as C'. cbn. rewrite !Rplus_0_l.
  set (S := sin t) in *. set (K := cos t) in *. set (S' := sin t') in *. set (K' := cos t') in *.
  set (u0 := u 0%nat). set (u1 := u 1%nat). set (v0 := v 0%nat). set (v1 := v 1%nat).
  assert (e : K * K = 1 - S * S) by lra. assert (e' : K' * K' = 1 - S' * S') by lra.
  ring [e e'].
Qed.

(* ---- all pairs: their parts are independent ---- *)
Variables (p m n : nat) (x y : nat -> nat -> nat -> P -> R) (a j : nat).
Hypotheses (Ha : (a < m)%nat) (Hj : (j < n)%nat) (H : independent 2 (all3 m p 2 x ++ all3 n p 2 y)).
Hypothesis X : forall a g i, (a < m)%nat -> (g < p)%nat -> (i < 2)%nat ->
  E (x a g i) = 0 /\ E (fun w => x a g i w ^ 2) = 1.
Hypothesis Y : forall a g i, (a < n)%nat -> (g < p)%nat -> (i < 2)%nat ->
  E (y a g i) = 0 /\ E (fun w => y a g i w ^ 2) = 1.
Variables (t t' : nat -> R) (u v : nat -> nat -> R) (s s' : R).
Let part g := dot 2 (turned_pair (t g) (u g) s (x a g)) (turned_pair (t' g) (v g) s' (y j g)).
Let pair g := all1 2 (x a g) ++ all1 2 (y j g).

Lemma both_rows : independent 2 (all2 p 2 (x a) ++ all2 p 2 (y j)).
Proof.
  revert H. apply independent_contained, contains_app.
  - apply (contains_each nat (fun a => all2 p 2 (x a))), in_seq. lia.
  - apply (contains_each nat (fun j => all2 p 2 (y j))), in_seq. lia.
Qed.
Lemma one_pair g : (g < p)%nat -> independent 2 (pair g).
Proof.
  intro Hg. generalize both_rows. apply independent_contained, contains_app; now apply contains_row.
Qed.
Lemma two_pairs g h : (g < p)%nat -> (h < p)%nat -> g <> h -> independent 2 (pair g ++ pair h).
Proof.
  intros Hg Hh gh. apply (independent_permuted _ ((all1 2 (x a g) ++ all1 2 (x a h)) ++
    (all1 2 (y j g) ++ all1 2 (y j h)))).
  - unfold pair. rewrite <- !app_assoc. apply Permutation.Permutation_app_head. rewrite !app_assoc.
    apply Permutation.Permutation_app_tail, Permutation.Permutation_app_comm.
  - generalize both_rows. apply independent_contained, contains_app; now apply contains_rows.
Qed.
Lemma part_polynomial g : (g < p)%nat -> polynomial 2 (pair g) (part g).
Proof.
  intro Hg. apply polynomial_sum; intros i Hi. apply polynomial_product; apply mixed_polynomial.
Qed.
Lemma part_square g : (g < p)%nat -> integrable (fun w => part g w ^ 2).
Proof.
  intro Hg. apply (square_of_dot 2 (all1 2 (x a g)) (all1 2 (y j g))); [now apply one_pair| |];
    apply mixed_vector.
Qed.
(* The variance of the whole score is the sum over pairs, whatever the angles. *)
Theorem variance_of_turned : Var (fun w => sum p (fun g => part g w)) = sum p (fun g =>
  2 * s' ^ 2 * s ^ 2 + s' ^ 2 * (u g 0%nat ^ 2 + u g 1%nat ^ 2) + s ^ 2 * (v g 0%nat ^ 2 + v g 1%nat ^ 2)).
Proof.
  assert (I : forall g, (g < p)%nat -> integrable (part g)).
  { intros g Hg. apply (polynomial_integrable 2 (pair g)); auto using one_pair, part_polynomial. }
  assert (T : forall g h, (g < p)%nat -> (h < p)%nat -> g <> h -> integrable (fun w => part g w * part h w) /\
    E (fun w => part g w * part h w) = E (part g) * E (part h)).
  { intros g h Hg Hh gh. apply (product_of_parts 2 (pair g) (pair h));
    auto using two_pairs, part_polynomial. }
  rewrite (Var_sum p part).
  - apply sum_ext; intros g Hg. apply variance_of_pair; [now apply one_pair| |]; intros i Hi; auto.
  - exact I.
  - intros g h Hg Hh. destruct (Nat.eq_dec g h) as [<-|gh]; [|now apply T].
    apply (integrable_ext (fun w => part g w ^ 2)); [intro; ring|now apply part_square].
  - intros g h Hg Hh gh. destruct (T g h Hg Hh gh) as [i e]. rewrite Cov_E, e by auto. ring.
Qed.
End Rotations.
