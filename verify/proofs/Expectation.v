(* Probability as expectation (Whittle): a space of outcomes, the random variables that
   have an expectation, and the expectation: linear, monotone, E 1 = 1.
   Finite spaces are instances (Spaces.v). So is every measure space of mass one: its integrable functions
   are closed under sums and multiples, constants have integrals, and the integral is linear and monotone. *)
From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From SDPA Require Import Sums.
Local Open Scope R_scope.

Record space := Space {
  outcome :> Type;
  integrable : (outcome -> R) -> Prop;
  E : (outcome -> R) -> R;
  integrable_const : forall c, integrable (fun _ => c);
  integrable_plus : forall X Y, integrable X -> integrable Y -> integrable (fun w => X w + Y w);
  integrable_scal : forall c X, integrable X -> integrable (fun w => c * X w);
  E_one : E (fun _ => 1) = 1;
  E_plus : forall X Y, integrable X -> integrable Y -> E (fun w => X w + Y w) = E X + E Y;
  E_scal : forall c X, integrable X -> E (fun w => c * X w) = c * E X;
  E_nonneg : forall X, integrable X -> (forall w, 0 <= X w) -> 0 <= E X }.
Arguments integrable {s}. Arguments E {s}.

Definition Var {P : space} (X : P -> R) := E (fun w => (X w - E X) ^ 2).
Definition Cov {P : space} (X Y : P -> R) := E (fun w => (X w - E X) * (Y w - E Y)).

(* equal at every outcome, so equal: functional extensionality, an axiom that Coq's reals bring along *)
Lemma E_ext {P : space} (X Y : P -> R) : (forall w, X w = Y w) -> E X = E Y.
Proof. intro H. f_equal. now apply functional_extensionality. Qed.
Lemma integrable_ext {P : space} (X Y : P -> R) :
  (forall w, X w = Y w) -> integrable X -> integrable Y.
Proof. intros H HX. now replace Y with X by now apply functional_extensionality. Qed.

Lemma Var_ext {P : space} (X Y : P -> R) : (forall w, X w = Y w) -> Var X = Var Y.
Proof. intro H. unfold Var. rewrite (E_ext X Y H). apply E_ext. intro w. now rewrite H. Qed.

Section Basic.
Context {P : space}.
Implicit Types X Y : P -> R.

Lemma E_const c : E (fun _ : P => c) = c.
Proof.
  rewrite (E_ext _ (fun w => c * 1)) by (intro; ring).
  rewrite E_scal, E_one; [ring|apply integrable_const].
Qed.
Lemma integrable_sum n (X : nat -> P -> R) : (forall i, (i < n)%nat -> integrable (X i)) ->
  integrable (fun w => sum n (fun i => X i w)).
Proof.
  induction n; intro H; simpl; [apply integrable_const|].
  apply integrable_plus; auto.
Qed.
Lemma E_sum n (X : nat -> P -> R) : (forall i, (i < n)%nat -> integrable (X i)) ->
  E (fun w => sum n (fun i => X i w)) = sum n (fun i => E (X i)).
Proof.
  induction n; intro H; simpl; [apply E_const|].
  rewrite E_plus, IHn; auto. apply integrable_sum; auto.
Qed.
Lemma Cov_E X Y : integrable X -> integrable Y -> integrable (fun w => X w * Y w) ->
  Cov X Y = E (fun w => X w * Y w) - E X * E Y.
Proof.
  intros HX HY HXY. unfold Cov.
  rewrite (E_ext _ (fun w => X w * Y w + ((- E Y) * X w + ((- E X) * Y w + E X * E Y)))) by (intro; ring).
  repeat rewrite ?E_plus, ?E_scal, ?E_const;
    repeat first [apply integrable_plus|apply integrable_scal|apply integrable_const|assumption].
  ring.
Qed.
Lemma Var_Cov X : Var X = Cov X X.
Proof. apply E_ext; intro; ring. Qed.
Lemma Var_E X : integrable X -> integrable (fun w => X w ^ 2) ->
  Var X = E (fun w => X w ^ 2) - E X ^ 2.
Proof.
  intros HX HXX. rewrite Var_Cov, Cov_E; auto.
  - rewrite (E_ext _ (fun w => X w ^ 2)) by (intro; ring). ring.
  - apply (integrable_ext (fun w => X w ^ 2)); auto. intro; ring.
Qed.
(* a factor enters the variance squared, whatever the law *)
Lemma Var_scal c X : integrable X -> integrable (fun w => X w ^ 2) ->
  Var (fun w => c * X w) = c ^ 2 * Var X.
Proof.
  intros HX HXX. rewrite !Var_E; auto using integrable_scal.
  - rewrite E_scal; auto.
    rewrite (E_ext _ (fun w => c ^ 2 * X w ^ 2)), E_scal; auto; try (intro; ring). ring.
  - apply (integrable_ext (fun w => c ^ 2 * X w ^ 2)); auto using integrable_scal. intro; ring.
Qed.
(* the variance of a sum of pairwise uncorrelated variables *)
Theorem Var_sum n (Y : nat -> P -> R) :
  (forall i, (i < n)%nat -> integrable (Y i)) ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> integrable (fun w => Y i w * Y j w)) ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> i <> j -> Cov (Y i) (Y j) = 0) ->
  Var (fun w => sum n (fun i => Y i w)) = sum n (fun i => Var (Y i)).
Proof.
  intros H1 H2 H0. unfold Var at 1. rewrite E_sum by auto.
  pose (D := fun i w => Y i w - E (Y i)).
  assert (HD : forall i j, (i < n)%nat -> (j < n)%nat -> integrable (fun w => D i w * D j w)).
  { intros i j Hi Hj.
    apply (integrable_ext (fun w => Y i w * Y j w +
      ((- E (Y j)) * Y i w + ((- E (Y i)) * Y j w + E (Y i) * E (Y j))))).
    { intro; unfold D; ring. }
    auto 6 using integrable_plus, integrable_scal, integrable_const. }
  rewrite (E_ext _ (fun w => sum n (fun i => sum n (fun j => D i w * D j w)))).
  2: { intro w. rewrite <- sum_minus. simpl. rewrite Rmult_1_r. apply sum_mult. }
  rewrite E_sum by (intros; apply integrable_sum; auto).
  apply sum_ext; intros i Hi.
  rewrite E_sum by auto.
  rewrite (sum_split n i) by easy.
  rewrite (sum_ext n _ (fun _ => 0)), sum_const, Rmult_0_r, Rplus_0_r.
  - apply E_ext; intro; unfold D; ring.
  - intros j Hj. destruct (Nat.eqb_spec j i); [easy|]. apply (H0 i j); auto.
Qed.
End Basic.
