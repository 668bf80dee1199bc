(* Softmax of n scores x_0 ... x_(n-1): weights, ratios, shifts, and bounds by the range of the scores. *)
From Coq Require Import Reals Lra Lia.
From SDPA Require Import Sums.
Local Open Scope R_scope.

Definition softmax (n : nat) (x : nat -> R) (i : nat) : R := exp (x i) / sum n (fun j => exp (x j)).
Definition entropy (n : nat) (p : nat -> R) : R := - sum n (fun i => p i * ln (p i)).
Definition weights n (p : nat -> R) := (forall i, (i < n)%nat -> 0 <= p i) /\ sum n p = 1.

Lemma softmax_ext n x y i : (forall j, x j = y j) -> softmax n x i = softmax n y i.
Proof. intro H. unfold softmax. rewrite H. f_equal. apply sum_ext; intros; now rewrite H. Qed.
Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [h| ->]; [now apply Rlt_le, exp_increasing|lra]. Qed.
Lemma partition_pos n x : (0 < n)%nat -> 0 < sum n (fun j => exp (x j)).
Proof. intro H. apply sum_pos; auto using exp_pos. Qed.

(* Weights are positive. *)
Theorem softmax_positive n x i : (0 < n)%nat -> 0 < softmax n x i.
Proof. intro H. apply Rdiv_lt_0_compat; [apply exp_pos|now apply partition_pos]. Qed.
(* They sum to 1. *)
Theorem softmax_sum n x : (0 < n)%nat -> sum n (softmax n x) = 1.
Proof. intro H. pose proof (partition_pos n x H). unfold softmax, Rdiv. rewrite sum_scal_r. field. lra. Qed.
(* So they are weights. *)
Theorem softmax_weights n x : (0 < n)%nat -> weights n (softmax n x).
Proof. split; [intros; now apply Rlt_le, softmax_positive|now apply softmax_sum]. Qed.
(* A number added to all scores changes nothing. *)
Theorem softmax_shift n x c i : (0 < n)%nat -> softmax n (fun j => x j + c) i = softmax n x i.
Proof.
  intro H. pose proof (partition_pos n x H). pose proof (exp_pos c). unfold softmax.
  rewrite (sum_ext n _ (fun j => exp (x j) * exp c)) by (intros; apply exp_plus).
  rewrite sum_scal_r, exp_plus. field. lra.
Qed.
(* The ratio of two weights is the exponential of the difference of their scores. *)
Theorem softmax_ratio n x i j : (0 < n)%nat -> softmax n x i / softmax n x j = exp (x i - x j).
Proof.
  intro H. pose proof (partition_pos n x H). pose proof (exp_pos (x j)). unfold softmax, Rminus.
  rewrite exp_plus, exp_Ropp. field. lra.
Qed.

(* ---- what weights are, of whatever scores ---- *)
Lemma weight_rest n p i : weights n p -> (i < n)%nat ->
  sum n (fun j => if Nat.eqb j i then 0 else p j) = 1 - p i.
Proof. intros [_ Hs] Hi. rewrite (sum_split n i) in Hs by easy. lra. Qed.
Lemma weight_le_1 n p i : weights n p -> (i < n)%nat -> p i <= 1.
Proof.
  intros W Hi. pose proof (weight_rest n p i W Hi) as r. destruct W as [Hp _].
  assert (0 <= sum n (fun j => if Nat.eqb j i then 0 else p j)); [|lra].
  apply sum_nonneg; intros j Hj. destruct (Nat.eqb j i); [lra|auto].
Qed.
Lemma two_weights n p i j : weights n p -> (i < n)%nat -> (j < n)%nat -> i <> j -> p i + p j <= 1.
Proof.
  intros W Hi Hj h. pose proof (weight_rest n p i W Hi) as r. destruct W as [Hp _].
  rewrite (sum_split n j) in r by easy. destruct (Nat.eqb_spec j i) as [e|_]; [now destruct h|].
  assert (0 <= sum n (fun l => if Nat.eqb l j then 0 else if Nat.eqb l i then 0 else p l)); [|lra].
  apply sum_nonneg; intros l Hl. destruct (Nat.eqb l j), (Nat.eqb l i); try lra; auto.
Qed.
(* The absolute values of a row of the Jacobian sum to 2 p (1 - p), at most one half. *)
Theorem jacobian_row n p i : weights n p -> (i < n)%nat ->
  (1 - p i) * p i + sum n (fun j => (1 - delta i j) * p i * p j) = 2 * p i * (1 - p i) /\
  2 * p i * (1 - p i) <= 1 / 2.
Proof.
  intros W Hi. split; [|pose proof (pow2_ge_0 (p i - 1 / 2)); nra].
  rewrite (sum_ext n _ (fun j => p i * (if Nat.eqb j i then 0 else p j))).
  - rewrite sum_scal, (weight_rest n p i W Hi). ring.
  - intros j _. unfold delta. destruct (Nat.eqb_spec i j), (Nat.eqb_spec j i); subst; try easy; ring.
Qed.

(* The quadratic form of the Jacobian is the variance of x under the weights. *)
Lemma jacobian_form n p x : weights n p ->
  sum n (fun j => sum n (fun l => (delta j l - p l) * p j * x j * x l)) =
  sum n (fun j => p j * x j ^ 2) - sum n (fun j => p j * x j) ^ 2.
Proof.
  intros _. rewrite (sum_ext n _ (fun j => p j * x j ^ 2 - p j * x j * sum n (fun l => p l * x l))).
  - rewrite sum_minus, sum_scal_r. ring.
  - intros j Hj. rewrite <- sum_scal.
    rewrite (sum_ext n _ (fun l => (if Nat.eqb l j then p j * x j ^ 2 else 0) - p j * x j * (p l * x l))).
    + rewrite sum_minus. f_equal. now apply (sum_single n j (fun _ => p j * x j ^ 2)).
    + intros l _. unfold delta. destruct (Nat.eqb_spec j l), (Nat.eqb_spec l j); subst; try easy; ring.
Qed.
(* Where no p (1 - p) is more than c, that is at most 2 c |x|^2. *)
Theorem jacobian_form_at_most n p x c : weights n p -> (forall j, (j < n)%nat -> p j * (1 - p j) <= c) ->
  sum n (fun j => p j * x j ^ 2) - sum n (fun j => p j * x j) ^ 2 <= 2 * c * sum n (fun j => x j ^ 2).
Proof.
  intros W Hc. pose proof W as [Hp Hs].
  assert (A : sum n (fun i => sum n (fun j => p i * p j * (x i + x j) ^ 2)) =
    2 * sum n (fun i => p i * x i ^ 2) + 2 * sum n (fun i => p i * x i) ^ 2).
  { rewrite (sum_ext n _ (fun i => p i * x i ^ 2 * sum n p + p i * sum n (fun j => p j * x j ^ 2)
      + 2 * (p i * x i * sum n (fun j => p j * x j)))).
    - rewrite !sum_plus, !sum_scal_r, sum_scal, sum_scal_r, Hs. ring.
    - intros i _. rewrite <- !sum_scal, <- !sum_plus. apply sum_ext; intros; ring. }
  assert (B : sum n (fun i => 4 * (p i ^ 2 * x i ^ 2)) <=
    sum n (fun i => sum n (fun j => p i * p j * (x i + x j) ^ 2))).
  { apply sum_le; intros i Hi. rewrite (sum_split n i) by easy.
    assert (0 <= sum n (fun j => if Nat.eqb j i then 0 else p i * p j * (x i + x j) ^ 2)).
    { apply sum_nonneg; intros j Hj. destruct (Nat.eqb j i); [lra|].
      apply Rmult_le_pos; [apply Rmult_le_pos; auto|apply pow2_ge_0]. }
    replace (p i * p i * (x i + x i) ^ 2) with (4 * (p i ^ 2 * x i ^ 2)) by ring. lra. }
  assert (C : sum n (fun i => 2 * (p i * x i ^ 2) - 2 * (p i ^ 2 * x i ^ 2)) <=
    sum n (fun i => 2 * c * x i ^ 2)).
  { apply sum_le; intros i Hi. pose proof (pow2_ge_0 (x i)). specialize (Hc i Hi).
    replace (2 * (p i * x i ^ 2) - 2 * (p i ^ 2 * x i ^ 2)) with (2 * (p i * (1 - p i)) * x i ^ 2) by ring.
    apply Rmult_le_compat_r; lra. }
  rewrite A, sum_scal in B. rewrite sum_minus, !sum_scal in C. lra.
Qed.

(* ---- bounds by the range: no other score is further below the own one, or above it, than B ---- *)
Section Range.
Variables (n i : nat) (x : nat -> R) (B : R).
Hypothesis Hi : (i < n)%nat.
Let others c : sum n (fun j => if Nat.eqb j i then 0 else exp (x i) * c) = (INR n - 1) * c * exp (x i).
Proof.
  pose proof (sum_const n (exp (x i) * c)) as C. rewrite (sum_split n i (fun _ => exp (x i) * c)) in C
    by easy. lra.
Qed.
Let at_least_one : 1 <= INR n. Proof. apply (le_INR 1). lia. Qed.

(* A score that leads no other by more than B has at most the weight of one that leads all others by B. *)
Theorem weight_at_most : (forall j, (j < n)%nat -> i <> j -> x i - x j <= B) ->
  softmax n x i <= 1 / (1 + (INR n - 1) * exp (- B)).
Proof.
  intro HB. pose proof (exp_pos (- B)). pose proof (exp_pos (x i)).
  set (T := sum n (fun j => if Nat.eqb j i then 0 else exp (x j))).
  assert ((INR n - 1) * exp (- B) * exp (x i) <= T).
  { rewrite <- others. apply sum_le; intros j Hj. destruct (Nat.eqb_spec j i); [lra|].
    rewrite <- exp_plus. apply exp_le. specialize (HB j Hj ltac:(auto)). lra. }
  unfold softmax. rewrite (sum_split n i) by easy. fold T.
  assert (0 <= (INR n - 1) * exp (- B)) by (apply Rmult_le_pos; lra).
  assert (0 < exp (x i) + T) by nra.
  apply (Rmult_le_reg_r (exp (x i) + T)); [easy|].
  apply (Rmult_le_reg_r (1 + (INR n - 1) * exp (- B))); [lra|].
  field_simplify; lra.
Qed.
End Range.
