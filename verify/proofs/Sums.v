(* Finite sums and products over 0 <= i < n, on the real numbers of Coq's standard library. *)
From Coq Require Import Reals Lra Lia.
Local Open Scope R_scope.

Fixpoint sum (n : nat) (f : nat -> R) : R := match n with O => 0 | S m => sum m f + f m end.
Fixpoint prod (n : nat) (f : nat -> R) : R := match n with O => 1 | S m => prod m f * f m end.

(* Kronecker's delta, and the sign of a number. *)
Definition delta (i j : nat) : R := if Nat.eqb i j then 1 else 0.
Definition sign (x : R) : R := if Rlt_dec 0 x then 1 else if Rlt_dec x 0 then - 1 else 0.

Lemma delta_same i : delta i i = 1.
Proof. unfold delta. now rewrite Nat.eqb_refl. Qed.
Lemma delta_other i j : i <> j -> delta i j = 0.
Proof. intro H. unfold delta. destruct (Nat.eqb_spec i j); [easy|reflexivity]. Qed.

(* ---- sums, term by term ---- *)
Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n; intro H; simpl; [easy|]. rewrite IHn, H; auto. Qed.
Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sum_minus n f g : sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sum_scal n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sum_scal_r n c f : sum n (fun i => f i * c) = sum n f * c.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; lra|]. rewrite S_INR; simpl sum; rewrite IHn; lra. Qed.

(* ---- order ---- *)
Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof. induction n; intro H; simpl; [lra|]. apply Rplus_le_compat; auto. Qed.
Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intro H. rewrite <- (Rmult_0_r (INR n)), <- sum_const. now apply sum_le. Qed.
Lemma sum_pos n f : (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < f i) -> 0 < sum n f.
Proof.
  destruct n; [lia|]. intros _ H. simpl.
  assert (0 <= sum n f) by (apply sum_nonneg; intros; apply Rlt_le, H; lia).
  specialize (H n ltac:(lia)); lra.
Qed.

(* ---- double sums, and single terms ---- *)
Lemma sum_exchange n m (f : nat -> nat -> R) :
  sum n (fun i => sum m (f i)) = sum m (fun j => sum n (fun i => f i j)).
Proof. induction n; simpl; [rewrite sum_const; lra|]. now rewrite IHn, <- sum_plus. Qed.
Lemma sum_mult n m f g : sum n f * sum m g = sum n (fun i => sum m (fun j => f i * g j)).
Proof. rewrite <- sum_scal_r. apply sum_ext; intros. now rewrite sum_scal. Qed.
Lemma sum_single n i f : (i < n)%nat -> sum n (fun j => if Nat.eqb j i then f j else 0) = f i.
Proof.
  induction n; [lia|]. intro H; simpl. destruct (Nat.eqb_spec n i).
  - subst. rewrite (sum_ext i _ (fun _ => 0)).
    + rewrite sum_const; lra.
    + intros j Hj. destruct (Nat.eqb_spec j i); [lia|easy].
  - rewrite IHn; [lra|lia].
Qed.
(* one term taken out of a sum *)
Lemma sum_split n i f : (i < n)%nat -> sum n f = f i + sum n (fun j => if Nat.eqb j i then 0 else f j).
Proof.
  intro H. rewrite <- (sum_single n i f) at 1 by easy. rewrite <- sum_plus.
  apply sum_ext; intros j _. destruct (Nat.eqb j i); lra.
Qed.
(* a sum whose terms are all alike but one *)
Lemma sum_but_one n i x y f : (i < n)%nat -> f i = x ->
  (forall j, (j < n)%nat -> j <> i -> f j = y) -> sum n f = x + (INR n - 1) * y.
Proof.
  intros Hi Hx Hy. rewrite (sum_split n i) by easy. rewrite Hx.
  rewrite (sum_ext n _ (fun j => y - (if Nat.eqb j i then y else 0))).
  - rewrite sum_minus, sum_const, (sum_single n i (fun _ => y)) by easy. ring.
  - intros j Hj. destruct (Nat.eqb_spec j i); [ring|rewrite Hy by easy; ring].
Qed.
(* all pairs of one range: n alike on the diagonal, and n (n - 1) alike beside it *)
Lemma sum_pairs n x y f : (forall i, (i < n)%nat -> f i i = x) ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> j <> i -> f i j = y) ->
  sum n (fun i => sum n (f i)) = INR n * (x + (INR n - 1) * y).
Proof.
  intros Hx Hy. rewrite (sum_ext n _ (fun _ => x + (INR n - 1) * y)), sum_const; [easy|].
  intros i Hi. apply (sum_but_one n i); auto.
Qed.

(* ---- products ---- *)
Lemma prod_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> prod n f = prod n g.
Proof. induction n; intro H; simpl; [easy|]. rewrite IHn, H; auto. Qed.
Lemma prod_mult n f g : prod n (fun i => f i * g i) = prod n f * prod n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; ring. Qed.
Lemma prod_one n : prod n (fun _ => 1) = 1.
Proof. induction n; simpl; lra. Qed.
Lemma prod_single n i c : (i < n)%nat -> prod n (fun j => if Nat.eqb j i then c else 1) = c.
Proof.
  induction n; [lia|]. intro H; simpl. destruct (Nat.eqb_spec n i).
  - subst. rewrite (prod_ext i _ (fun _ => 1)).
    + rewrite prod_one; lra.
    + intros j Hj. destruct (Nat.eqb_spec j i); [lia|easy].
  - rewrite IHn; [lra|lia].
Qed.
