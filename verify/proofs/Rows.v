(* The spread of numbers in a row, such as the scores of one query: mean squares and squared sums. *)
From Coq Require Import Reals Lra Lia List.
From SDPA Require Import Sums Expectation Independence Scores.
Local Open Scope R_scope.

Section Rows.
Context {P : space}.

(* ---- any row whose products of two have means: a on the diagonal, b beside it ---- *)
Section Products.
Variables (n : nat) (s : nat -> P -> R) (G : nat -> nat -> R).
Hypothesis HG : forall j l, (j < n)%nat -> (l < n)%nat ->
  integrable (fun w => s j w * s l w) /\ E (fun w => s j w * s l w) = G j l.

Lemma mean_of_squares : integrable (fun w => sum n (fun j => s j w ^ 2)) /\
  E (fun w => sum n (fun j => s j w ^ 2)) = sum n (fun j => G j j).
Proof.
  assert (A : forall j, (j < n)%nat -> integrable (fun w => s j w ^ 2) /\ E (fun w => s j w ^ 2) = G j j).
  { intros j Hj. assert (e : forall w, s j w * s j w = s j w ^ 2) by (intro; ring).
    destruct (HG j j Hj Hj) as [i m]. split; [now apply (integrable_ext _ _ e)|
      now rewrite <- (E_ext _ _ e)]. }
  split; [apply (integrable_sum n (fun j w => s j w ^ 2)); intros; now apply A|].
  rewrite (E_sum n (fun j w => s j w ^ 2)) by (intros; now apply A). apply sum_ext; intros; now apply A.
Qed.
Lemma mean_of_squared_sum : integrable (fun w => sum n (fun j => s j w) ^ 2) /\
  E (fun w => sum n (fun j => s j w) ^ 2) = sum n (fun j => sum n (G j)).
Proof.
  assert (e : forall w, sum n (fun j => sum n (fun l => s j w * s l w)) = sum n (fun j => s j w) ^ 2).
  { intro w. rewrite <- sum_mult. ring. }
  split.
  - apply (integrable_ext _ _ e). apply integrable_sum; intros j Hj. apply integrable_sum; intros l Hl.
    now apply HG.
  - rewrite <- (E_ext _ _ e), E_sum.
    + apply sum_ext; intros j Hj. rewrite E_sum by (intros; now apply HG).
      apply sum_ext; intros; now apply HG.
    + intros j Hj. apply integrable_sum; intros l Hl. now apply HG.
Qed.
(* any combination of the mean square and the square of the sum *)
Lemma mean_of_row c e X : (forall w, X w = c * sum n (fun j => s j w ^ 2) + e * sum n (fun j => s j w) ^ 2) ->
  E X = c * sum n (fun j => G j j) + e * sum n (fun j => sum n (G j)).
Proof.
  intro h. destruct mean_of_squares as [i1 m1], mean_of_squared_sum as [i2 m2].
  rewrite (E_ext X _ h), E_plus, !E_scal, m1, m2 by (easy || now apply integrable_scal). reflexivity.
Qed.
End Products.

(* The squared distances from the row's own mean, over n - 1: less the mean product of two different ones. *)
Theorem mean_variance_of_row n (s : nat -> P -> R) x y : (2 <= n)%nat ->
  (forall j l, (j < n)%nat -> (l < n)%nat -> integrable (fun w => s j w * s l w) /\
    E (fun w => s j w * s l w) = if Nat.eqb l j then x else y) ->
  E (fun w => sum n (fun j => (s j w - sum n (fun l => s l w) / INR n) ^ 2) / (INR n - 1)) = x - y.
Proof.
  intros Hn H. assert (N : 2 <= INR n) by now apply (le_INR 2).
  rewrite (mean_of_row n s _ H (/ (INR n - 1)) (- / (INR n * (INR n - 1)))).
  - rewrite (sum_ext n (fun j => if Nat.eqb j j then x else y) (fun _ => x)), sum_const
      by (intros; now rewrite Nat.eqb_refl).
    rewrite (sum_pairs n x y).
    + field. lra.
    + intros. now rewrite Nat.eqb_refl.
    + intros i j _ _ h. now destruct (Nat.eqb_spec j i).
  - intro w. set (T := sum n (fun j => s j w)).
    rewrite (sum_ext n _ (fun j => s j w ^ 2 - 2 * (T / INR n) * s j w + (T / INR n) ^ 2)) by (intros; ring).
    rewrite sum_plus, sum_minus, sum_scal, sum_const. fold T. field. lra.
Qed.

(* ---- the scores of one query with two keys ---- *)
Section Scores.
Variables (d m n : nat) (q k : nat -> nat -> P -> R) (mq sq mk sk : R) (a : nat).
Hypotheses (Ha : (a < m)%nat) (H : independent 2 (all2 n d k ++ all2 m d q)).
Hypothesis Ak : forall j i, (j < n)%nat -> (i < d)%nat -> E (k j i) = mk /\ E (fun w => k j i w ^ 2) = sk.
Hypothesis Aq : forall a i, (a < m)%nat -> (i < d)%nat -> E (q a i) = mq /\ E (fun w => q a i w ^ 2) = sq.

Lemma one_query_two_keys j l : (j < n)%nat -> (l < n)%nat -> j <> l ->
  independent 2 (all1 d (q a) ++ (all1 d (k j) ++ all1 d (k l))).
Proof.
  intros. apply (independent_permuted _ ((all1 d (k j) ++ all1 d (k l)) ++ all1 d (q a))).
  - apply Permutation.Permutation_app_comm.
  - revert H. apply independent_contained, contains_app; [now apply contains_rows|now apply contains_row].
Qed.
(* The mean product of two scores of one query: with the same key, and with two different ones. *)
Theorem mean_of_two_scores j l : (j < n)%nat -> (l < n)%nat ->
  integrable (fun w => dot d (q a) (k j) w * dot d (q a) (k l) w) /\
  E (fun w => dot d (q a) (k j) w * dot d (q a) (k l) w) =
  if Nat.eqb l j then INR d * (sq * sk + (INR d - 1) * (mq ^ 2 * mk ^ 2))
  else INR d * (sq * mk ^ 2 + (INR d - 1) * (mq ^ 2 * mk ^ 2)).
Proof.
  intros Hj Hl. pose proof (one_query_one_key d m n q k a j Ha Hj H) as I1.
  pose proof (query_alike d m q mq sq a Ha Aq) as Bq. pose proof (independent_part _ _ _ I1) as Iq.
  pose proof (key_alike d n k mk sk j Hj Ak) as Bk. pose proof (independent_rest _ _ _ I1) as Ik1.
  destruct (Nat.eqb_spec l j) as [->|h].
  - destruct (mean_of_product d _ _ _ (k j) I1 (vector_row d (q a)) (k j)) as [i e].
    { intros i g Hi Hg. now apply vector_row. }
    split; [easy|]. rewrite e. apply sum_pairs.
    + intros. now rewrite (second_moments d _ mq sq), (second_moments d _ mk sk), Nat.eqb_refl by auto.
    + intros i0 g Hi Hg hg. rewrite (second_moments d _ mq sq), (second_moments d _ mk sk) by auto.
      now destruct (Nat.eqb_spec g i0).
  - pose proof (one_query_two_keys j l Hj Hl ltac:(auto)) as I2. pose proof (independent_rest _ _ _ I2) as Ik.
    assert (B : forall i g, (i < d)%nat -> (g < d)%nat -> E (fun w => k j i w * k l g w) = mk ^ 2).
    { intros i g Hi Hg. destruct (product_of_parts 2 _ _ (k j i) (k l g) Ik) as [_ e];
        [now apply (vector_row d (k j) i i)|now apply (vector_row d (k l) g g)|].
      rewrite e. destruct (Ak j i Hj Hi) as [-> _], (Ak l g Hl Hg) as [-> _]. ring. }
    destruct (mean_of_product d _ _ _ (k j) I2 (vector_row d (q a)) (k l)) as [i e].
    { intros i g Hi Hg. apply polynomial_product; [now apply (vector_row d (k j) i i)|
      now apply (vector_row d (k l) g g)]. }
    split; [easy|]. rewrite e. apply sum_pairs.
    + intros i0 Hi. rewrite (second_moments d _ mq sq), B, Nat.eqb_refl by auto. ring.
    + intros i0 g Hi Hg hg. rewrite (second_moments d _ mq sq), B by auto. now destruct (Nat.eqb_spec g i0).
Qed.
End Scores.

(* ---- a bias of its own for each place, and independent numbers of mean 0 and variance 1 ---- *)
Theorem mean_of_biased_row n (z : nat -> P -> R) (b : nat -> R) sigma c e X :
  independent 2 (all1 n z) -> alike n z 0 1 ->
  (forall w, X w = c * sum n (fun j => (b j + sigma * z j w) ^ 2) + e *
    sum n (fun j => b j + sigma * z j w) ^ 2) ->
  E X = c * (sum n (fun j => b j ^ 2) + INR n * sigma ^ 2) + e * (sum n b ^ 2 + INR n * sigma ^ 2).
Proof.
  intros H Z h.
  assert (I : forall j l, (j < n)%nat -> (l < n)%nat -> integrable (z j) /\
    integrable (fun w => z j w * z l w)).
  { intros j l Hj Hl. split; apply (polynomial_integrable 2 (all1 n z)); auto;
    now apply (vector_row n z j l). }
  rewrite (mean_of_row n (fun j w => b j + sigma * z j w) (fun j l => b j * b l + sigma ^ 2 * delta j l))
    with (c := c) (e := e).
  - rewrite (sum_ext n _ (fun j => b j ^ 2 + sigma ^ 2)) by (intros; rewrite delta_same; ring).
    rewrite sum_plus, sum_const.
    rewrite (sum_ext n (fun j => sum n _) (fun j => b j * sum n b + sigma ^ 2)).
    + rewrite sum_plus, sum_const, sum_scal_r. ring.
    + intros j Hj. rewrite sum_plus, sum_scal. f_equal.
      rewrite (sum_ext n _ (fun l => if Nat.eqb l j then sigma ^ 2 else 0)).
      * now apply (sum_single n j (fun _ => sigma ^ 2)).
      * intros l _. unfold delta. destruct (Nat.eqb_spec j l), (Nat.eqb_spec l j); subst; try easy; ring.
  - intros j l Hj Hl.
    assert (A : forall w, b j * b l + (b j * sigma * z l w +
      (b l * sigma * z j w + sigma ^ 2 * (z j w * z l w))) =
      (b j + sigma * z j w) * (b l + sigma * z l w)) by (intro; ring).
    destruct (I j l Hj Hl) as [ij ijl], (I l j Hl Hj) as [il _]. split.
    + apply (integrable_ext _ _ A). repeat apply integrable_plus; try apply integrable_scal; auto.
      apply integrable_const.
    + rewrite <- (E_ext _ _ A).
      rewrite !E_plus, !E_scal, E_const by (repeat apply integrable_plus; try apply integrable_scal; auto;
        apply integrable_const).
      rewrite (second_moments n z 0 1), (proj1 (Z j Hj)), (proj1 (Z l Hl)) by auto.
      unfold delta. destruct (Nat.eqb_spec j l), (Nat.eqb_spec l j); subst; try easy; ring.
  - exact h.
Qed.
Lemma sum_of_places n : sum n (fun j => INR (j + 1) - 1) = INR n * (INR n - 1) / 2.
Proof. induction n; cbn [sum]; [simpl; lra|]. rewrite IHn, S_INR, plus_INR. simpl. field. Qed.
Lemma sum_of_squared_places n : sum n (fun j => (INR (j + 1) - 1) ^ 2) = INR n * (INR n - 1) *
  (2 * INR n - 1) / 6.
Proof. induction n; cbn [sum]; [simpl; lra|]. rewrite IHn, S_INR, plus_INR. simpl. field. Qed.
End Rows.
